// SPDX-License-Identifier: Apache-2.0
//
// Compares the page's dependency graph with that of the analyses.
#include "libtrace/view/html/page_graph.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

using namespace acceltrace::test;
using analysis::Graph;

constexpr int64_t kBase = 30'000'000;

// Calls that each submit a job with two commands, the second of which follows the first.
TraceBuilder Calls(uint32_t n) {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t at = kBase + int64_t{i} * 20'000;
    JobSpec job = test::JobOfCall(at, i + 1, at + 12'000);
    for (Unit unit : {kIn, kMatrix}) {
      CommandSpec command;
      command.unit = unit, command.fetched_ns = at + 3'000, command.head_ns = at + 4'000;
      command.start_ns = at + 5'000 + (unit == kIn ? 0 : 3'000);
      command.end_ns = command.start_ns + 3'000;
      command.bytes = 4096, command.work = 1'000;
      job.commands.push_back(command);
    }
    builder.AddApi("Launch", 100, job.correlation, at, at + 3'000);
    builder.AddJob(job);
  }
  builder.AddTrueCounters(0, kBase - 5'000);
  builder.AddTrueCounters(0, kBase + int64_t{n} * 20'000);
  return builder;
}

struct Made {
  explicit Made(uint32_t n) : model(Calls(n).Model()), work(*model) {
    const analysis::Report report = analysis::ComputeReport(*model);
    graph = analysis::BuildGraph(*model, work, report.breakdown.begin_ns, report.breakdown.end_ns);
    page = MakePageGraph(*model, graph);
  }
  std::unique_ptr<model::Model> model;
  analysis::TracerWork work;
  Graph graph;
  PageGraph page;
};

bool HasEdge(const PageGraph& page, uint32_t from, uint32_t to, int reason, bool binding) {
  for (uint32_t e = page.first_edge[to]; e < page.first_edge[to + 1]; ++e) {
    if (page.from[e] == from && page.reason[e] == reason && (page.binding[e] != 0) == binding) {
      return true;
    }
  }
  return false;
}

TEST_CASE("A call leads to its job's fetch, commands and completion") {
  const Made made(20);
  const PageGraph& page = made.page;
  const model::Jobs& jobs = made.model->jobs;
  REQUIRE(page.size() > 80);
  for (uint32_t j = 1; j + 1 < jobs.size(); ++j) {
    const uint32_t call = page.of_api[jobs.api_row[j]];
    const uint32_t first = page.of_command[jobs.first_command[j]], second = first + 1;
    const uint32_t fetch = first - 1, completion = page.of_job[j];
    REQUIRE(page.kind[fetch] == PageGraph::kFetch);
    CHECK(page.row[fetch] == j);
    CHECK(HasEdge(page, call, fetch, analysis::kByDoorbell, true));
    CHECK(HasEdge(page, fetch, first, PageGraph::kFetched, true));
    CHECK(HasEdge(page, first, second, PageGraph::kDepends, true));
    CHECK(HasEdge(page, second, completion, analysis::kByCompletion, true));
    CHECK(HasEdge(page, first, completion, analysis::kByCompletion, false));
    CHECK(page.end_ns[first] - page.begin_ns[first] == 3'000);
    CHECK(page.resumes[call] == 0);
  }
}

TEST_CASE("Edges are those of the graph, without those inside of a node") {
  const Made made(30);
  const PageGraph& page = made.page;
  REQUIRE(page.first_edge.back() == page.from.size());
  REQUIRE(page.first_next.back() == page.from.size());
  std::vector<int> binding(page.size());
  for (uint32_t n = 0; n < page.size(); ++n) {
    CHECK(page.begin_ns[n] <= page.end_ns[n]);
    for (uint32_t e = page.first_edge[n]; e < page.first_edge[n + 1]; ++e) {
      CHECK(page.to[e] == n);
      CHECK(page.from[e] != n);
      CHECK(page.slack_ns[e] >= 0);
      binding[n] += page.binding[e];
      CHECK((page.binding[e] == 0 || page.slack_ns[e] == 0));
    }
    CHECK(binding[n] <= 1);
    for (uint32_t i = page.first_next[n]; i < page.first_next[n + 1]; ++i) {
      CHECK(page.from[page.next[i]] == n);
    }
  }
  // There is one for each node of the analysis whose last edge comes from another node.
  size_t expected = 0;
  for (uint32_t n = 0; n < made.graph.size(); ++n) {
    const uint32_t e = analysis::LastEdge(made.graph, n);
    if (e == Graph::kNone || made.graph.kind[n] == Graph::Kind::kEnd) continue;
    const uint32_t from = made.graph.from[e];
    const bool same_thread = made.graph.kind[n] == Graph::Kind::kHost &&
                             made.graph.kind[from] == Graph::Kind::kHost &&
                             made.graph.points[made.graph.row[n]].api_row ==
                                 made.graph.points[made.graph.row[from]].api_row;
    expected += !same_thread;
  }
  CHECK(static_cast<size_t>(std::count(page.binding.begin(), page.binding.end(), 1)) == expected);
}

TEST_CASE("What is around a node is near to it, both ways, and no more than asked for") {
  const Made made(50);
  const PageGraph& page = made.page;
  const uint32_t node = page.of_command[40];
  for (size_t most : {size_t{1}, size_t{10}, size_t{60}}) {
    const std::vector<uint32_t> around = page.Around(node, most);
    CHECK(around.size() <= most + 1);
    CHECK(around.front() == node);
    CHECK(std::set<uint32_t>(around.begin(), around.end()).size() == around.size());
  }
  const std::vector<uint32_t> around = page.Around(node, 60);
  const auto has = [&](uint32_t n) {
    return std::find(around.begin(), around.end(), n) != around.end();
  };
  for (uint32_t e = page.first_edge[node]; e < page.first_edge[node + 1]; ++e) {
    CHECK(has(page.from[e]));
  }
  for (uint32_t i = page.first_next[node]; i < page.first_next[node + 1]; ++i) {
    CHECK(has(page.to[page.next[i]]));
  }
  CHECK(page.Around(PageGraph::kNone, 10).empty());
  CHECK(PageGraph().Around(0, 10).empty());
}

}  // namespace
}  // namespace acceltrace::view
