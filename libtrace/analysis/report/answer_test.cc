// SPDX-License-Identifier: Apache-2.0
//
// Parts of a report must be equal to those of the whole report, and cheaper.
#include <algorithm>
#include <random>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/radix.h"
#include "libtrace/analysis/rows/sweep.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// Jobs with two commands each, with pauses of the program in between. `overlaps` makes commands
// overlap on an in-order unit.
std::unique_ptr<model::Model> Jobs(uint32_t jobs, bool overlaps) {
  TraceBuilder builder;
  builder.AddDevice();
  for (uint32_t i = 0; i < jobs; ++i) {
    const int64_t at = kBase + int64_t{i} * 20'000;
    JobSpec job;
    job.job = job.sequence = i + 1, job.correlation = i + 1;
    job.submit_ns = at + 100, job.doorbell_ns = at + 200, job.submit_end_ns = at + 300;
    job.device_doorbell_ns = at + 250, job.fetched_ns = at + 850;
    for (const int64_t begin : {at + 1'000, at + (overlaps ? 1'500 : 3'000)}) {
      CommandSpec command;
      command.unit = kMatrix, command.fetched_ns = at + 850;
      command.head_ns = command.start_ns = begin, command.end_ns = begin + 2'000;
      job.commands.push_back(command);
    }
    job.completion_ns = job.device_irq_ns = at + 6'000;
    job.irq_ns = at + 6'100, job.complete_ns = at + 6'200;
    builder.AddApi("Launch", 100, i + 1, at, at + 350);
    builder.AddJob(job);
  }
  return builder.Model();
}

std::string FindingsOf(const Report& report) {
  std::string all;
  for (const Finding& finding : FindProblems(report)) {
    all += finding.kind + ": " + finding.text + "\n";
  }
  return all;
}

TEST_CASE("The checks find what the whole report finds, and nothing else is computed") {
  for (const bool overlaps : {false, true}) {
    const auto model = Jobs(10, overlaps);
    const Report whole = ComputeReport(*model), checks = ComputeChecks(*model);
    CHECK(checks.overlaps == whole.overlaps);
    CHECK(checks.overlaps == std::vector<uint64_t>{overlaps ? 10u : 0u});
    CHECK(FindingsOf(checks) == FindingsOf(whole));
    CHECK(checks.causality.certain == whole.causality.certain);
    CHECK(checks.causality.constraints == whole.causality.constraints);
    CHECK(checks.laws.size() == whole.laws.size());
    CHECK(checks.counts.commands == 20);
    CHECK(checks.breakdown.RunNs() == 0);
    CHECK(checks.utilisation.empty());
  }
}

TEST_CASE("The answer is that of the whole report") {
  const auto model = Jobs(10, false);
  const Report whole = ComputeReport(*model), answer = ComputeAnswer(*model);
  REQUIRE(answer.verdict.text == whole.verdict.text);
  CHECK(answer.breakdown.run.mid_ns == whole.breakdown.run.mid_ns);
  CHECK(answer.breakdown.pieces.size() == whole.breakdown.pieces.size());
  for (int c = 0; c < kNumClasses; ++c) {
    CHECK(answer.breakdown.time[c].lo_ns == whole.breakdown.time[c].lo_ns);
    CHECK(answer.breakdown.time[c].mid_ns == whole.breakdown.time[c].mid_ns);
    CHECK(answer.breakdown.time[c].hi_ns == whole.breakdown.time[c].hi_ns);
  }
  REQUIRE_FALSE(whole.advice.empty());
  REQUIRE(answer.advice.size() == whole.advice.size());
  for (size_t i = 0; i < whole.advice.size(); ++i) {
    CHECK(answer.advice[i].text == whole.advice[i].text);
    CHECK(answer.advice[i].share == whole.advice[i].share);
    CHECK(answer.advice[i].hi_share == whole.advice[i].hi_share);
    CHECK(answer.advice[i].calls == whole.advice[i].calls);
  }
  // It was not computed.
  CHECK(answer.limiter.gains.empty());
  CHECK(answer.ops.empty());
  CHECK(answer.latency.jobs == 0);
}

TEST_CASE("The judgement is the answer's without advice") {
  const auto model = Jobs(10, false);
  const Report answer = ComputeAnswer(*model), judgement = ComputeJudgement(*model);
  CHECK(judgement.verdict.text == answer.verdict.text);
  CHECK(judgement.breakdown.begin_ns == answer.breakdown.begin_ns);
  CHECK(judgement.advice.empty());
}

TEST_CASE("Without anything of the tracer's a run without it is not replayed") {
  const auto model = Jobs(10, false);
  const Breakdown breakdown = ComputeBreakdown(*model);
  const Graph graph = BuildGraph(*model, TracerWork(*model), breakdown.begin_ns, breakdown.end_ns);
  Replays replays(graph);
  Scales without;
  without.without_tracer = true;
  const double as_it_was = replays.Run({});
  CHECK(replays.Run(without) == as_it_was);
  CHECK(replays.Run(without, {.tracer = 2}) == as_it_was);
  CHECK(replays.made() == 1);
}

TEST_CASE("A sweep is the same wherever its pieces lie") {
  const auto stretches = [](int64_t base, int64_t far) {
    Sweep sweep;
    sweep.Add(0, {base, base, base}, {base + 10, base + 10, base + 10});
    sweep.Add(1, {base + 4, base + 5, base + 6}, {base + 20, base + 22, base + 24});
    if (far != 0) sweep.Add(2, {far, far, far}, {far + 1, far + 1, far + 1});
    std::vector<std::array<int64_t, 5>> all;
    sweep.Run([&](int64_t from, int64_t to, const States& on) {
      if (far == 0 || from < base + 24) {
        all.push_back(
            {from - base, std::min<int64_t>(to - base, 24), on.certain, on.possible, on.likely});
      }
    });
    return all;
  };
  const auto near = stretches(0, 0);
  REQUIRE(near.size() == 7);
  CHECK(near[0] == std::array<int64_t, 5>{0, 4, 1, 1, 1});
  CHECK(near[1] == std::array<int64_t, 5>{4, 5, 1, 3, 1});
  CHECK(near[2] == std::array<int64_t, 5>{5, 6, 1, 3, 3});
  CHECK(near[3] == std::array<int64_t, 5>{6, 10, 3, 3, 3});
  CHECK(stretches(-1'000'000'000'000, 0) == near);
  CHECK(stretches(0, int64_t{1} << 61) == near);
}

TEST_CASE("Numbers are sorted, and equal ones keep their order") {
  std::mt19937_64 random(7);
  for (const size_t count : {1, 2, 400, 5000}) {
    for (const uint64_t range : {uint64_t{16}, uint64_t{1} << 40, UINT64_MAX}) {
      std::vector<std::pair<uint64_t, size_t>> items;
      for (size_t i = 0; i < count; ++i) items.emplace_back(random() % range, i);
      auto sorted = items;
      std::sort(sorted.begin(), sorted.end());
      // Also try two sorted lists, as those of two kinds of units are.
      auto lists = items;
      std::sort(lists.begin(), lists.begin() + static_cast<ptrdiff_t>(count / 3));
      std::sort(lists.begin() + static_cast<ptrdiff_t>(count / 3), lists.end());
      for (size_t i = 0; i < count; ++i) lists[i].second = i;
      auto merged = lists;
      std::sort(merged.begin(), merged.end());
      SortByNumber([](const auto& item) { return item.first; }, &lists);
      CHECK(lists == merged);
      SortByNumber([](const auto& item) { return item.first; }, &items);
      CHECK(items == sorted);
    }
  }
}

TEST_CASE("A cursor reads what the column holds, in any order") {
  model::Column<uint32_t> column;
  for (uint32_t i = 0; i < 5000; ++i) column.push_back(i * i % 977);
  Cursor<uint32_t> cursor(column), jumps(column);
  std::mt19937 random(3);
  bool right = true;
  for (size_t row = 0; row < 5000; ++row) {
    right = right && cursor[row] == column.At(row);
    const size_t any = random() % 5100;  // also after its end
    right = right && jumps[any] == column.At(any);
  }
  CHECK(right);
}

}  // namespace
}  // namespace acceltrace::analysis
