// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/view/common/page_columns.h"

namespace acceltrace::view {
namespace {

using analysis::Graph;
using From = Graph::Kind;

class Maker {
 public:
  Maker(const model::Model& model, const Graph& graph) : model_(model), graph_(graph) {}

  PageGraph Run() {
    made_.of_api.assign(model_.api.size(), PageGraph::kNone);
    made_.of_job.assign(model_.jobs.size(), PageGraph::kNone);
    made_.of_command.assign(model_.commands.size(), PageGraph::kNone);
    node_of_.resize(graph_.size());
    for (uint32_t n = 0; n < graph_.size(); ++n) AddNode(n);
    AddEdges();
    FindCalls();
    return std::move(made_);
  }

 private:
  int64_t HostNs(double at_ns) const { return graph_.begin_ns + std::llround(at_ns); }

  void AddNode(uint32_t n) {
    const uint32_t row = graph_.row[n];
    const int64_t at_ns = HostNs(graph_.at_ns[n]);
    switch (graph_.kind[n]) {
      case From::kEnd:  // follows its start
        node_of_[n] = node_of_[graph_.start_of[row]];
        made_.end_ns[node_of_[n]] = at_ns;
        return;
      case From::kHost:
        if (Continues(n)) {
          node_of_[n] = node_of_[n - 1];
          made_.end_ns[node_of_[n]] = at_ns;
          return;
        }
        Push(n, PageGraph::kThread, graph_.points[row].api_row, at_ns);
        return;
      case From::kFetch:
        Push(n, PageGraph::kFetch, model_.commands.job_row[row], at_ns);
        return;
      case From::kStart:
        Push(n, PageGraph::kCommand, row, at_ns);
        made_.of_command[row] = node_of_[n];
        return;
      case From::kCompletion:
        Push(n, PageGraph::kCompletion, row, at_ns);
        made_.of_job[row] = node_of_[n];
        return;
    }
  }

  void Push(uint32_t n, PageGraph::Kind kind, uint32_t row, int64_t at_ns) {
    node_of_[n] = static_cast<uint32_t>(made_.size());
    made_.kind.push_back(kind), made_.row.push_back(row);
    made_.begin_ns.push_back(at_ns), made_.end_ns.push_back(at_ns);
    made_.resumes.push_back(kind == PageGraph::kThread && ComesFromElsewhere(n));
  }

  bool ComesFromElsewhere(uint32_t n) const {
    for (uint32_t e = graph_.first_edge[n]; e < graph_.first_edge[n + 1]; ++e) {
      if (graph_.kind[graph_.from[e]] != From::kHost) return true;
    }
    return false;
  }

  // The points of a thread have successive numbers.
  bool Continues(uint32_t n) const {
    if (n == 0 || graph_.kind[n - 1] != From::kHost) return false;
    const Graph::Point &point = graph_.points[graph_.row[n]],
                       &before = graph_.points[graph_.row[n - 1]];
    return point.tid == before.tid && point.api_row == before.api_row && !ComesFromElsewhere(n);
  }

  uint8_t ReasonOf(uint32_t e) const {
    const uint32_t from = graph_.from[e], to = graph_.to[e];
    if (graph_.edge_cause[e] != analysis::kByOrder) return graph_.edge_cause[e];
    if (graph_.kind[to] == From::kStart && graph_.kind[from] == From::kFetch) {
      return PageGraph::kFetched;
    }
    if (graph_.kind[to] == From::kStart) {
      const model::Commands& commands = model_.commands;
      const uint32_t a = graph_.row[from], b = graph_.row[to];
      const bool same =
          commands.unit[a] == commands.unit[b] && commands.device[a] == commands.device[b];
      return same ? PageGraph::kSameUnit : PageGraph::kDepends;
    }
    return graph_.kind[to] == From::kCompletion ? graph_.cause[to]
           : graph_.kind[to] == From::kFetch    ? graph_.cause[to]
                                                : graph_.edge_cause[e];
  }

  void AddEdges() {
    made_.first_edge.assign(made_.size() + 1, 0);
    made_.first_next.assign(made_.size() + 1, 0);
    // Nodes of both graphs are in the same order, except for ends and points, which are merged into
    // others.
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      const uint32_t last = analysis::LastEdge(graph_, n);
      for (uint32_t e = graph_.first_edge[n]; e < graph_.first_edge[n + 1]; ++e) {
        const uint32_t from = node_of_[graph_.from[e]], to = node_of_[n];
        if (from == to || !graph_.Counts(e, graph_.at_ns)) continue;
        ++made_.first_edge[to + 1], ++made_.first_next[from + 1];
        made_.from.push_back(from), made_.to.push_back(to);
        made_.reason.push_back(ReasonOf(e));
        const double gap_ns = graph_.at_ns[n] - graph_.at_ns[graph_.from[e]];
        const double slack_ns = gap_ns - graph_.cost_ns[n] - graph_.edge_ns[e];
        made_.gap_ns.push_back(static_cast<float>(gap_ns));
        made_.slack_ns.push_back(e == last ? 0 : static_cast<float>(std::max(0.0, slack_ns)));
        made_.binding.push_back(e == last);
      }
    }
    std::partial_sum(made_.first_edge.begin(), made_.first_edge.end(), made_.first_edge.begin());
    std::partial_sum(made_.first_next.begin(), made_.first_next.end(), made_.first_next.begin());
    made_.next.resize(made_.from.size());
    std::vector<uint32_t> out(made_.first_next.begin(), made_.first_next.end() - 1);
    for (uint32_t e = 0; e < made_.from.size(); ++e) made_.next[out[made_.from[e]]++] = e;
  }

  // Finds the node of a call. The part that continued after something else is preferred, since it
  // explains why the call took so long.
  void FindCalls() {
    for (uint32_t n = 0; n < made_.size(); ++n) {
      if (made_.kind[n] != PageGraph::kThread || made_.row[n] == model::kNoRow) continue;
      uint32_t& of = made_.of_api[made_.row[n]];
      if (of == PageGraph::kNone || made_.resumes[n] != 0) of = n;
    }
  }

  const model::Model& model_;
  const Graph& graph_;
  PageGraph made_;
  std::vector<uint32_t> node_of_;
};

constexpr uint32_t kMostOfOne = 8;
constexpr int kMostSteps = 12;

}  // namespace

std::vector<uint32_t> PageGraph::Around(uint32_t node, size_t most) const {
  std::vector<uint32_t> around;
  if (node >= size()) return around;
  around.push_back(node);
  for (const bool back : {true, false}) {
    std::vector<uint32_t> front = {node}, edges;
    const size_t limit = back ? (most + 1) / 2 : most;
    for (int step = 0; step < kMostSteps && !front.empty() && around.size() < limit; ++step) {
      std::vector<uint32_t> ahead;
      for (const uint32_t n : front) {
        edges.clear();
        if (back) {
          for (uint32_t e = first_edge[n]; e < first_edge[n + 1]; ++e) edges.push_back(e);
        } else {
          edges.assign(next.begin() + first_next[n], next.begin() + first_next[n + 1]);
        }
        const size_t taken = std::min<size_t>(kMostOfOne, edges.size());
        std::partial_sort(edges.begin(), edges.begin() + static_cast<ptrdiff_t>(taken), edges.end(),
                          [this](uint32_t a, uint32_t b) {
                            return slack_ns[a] != slack_ns[b] ? slack_ns[a] < slack_ns[b] : a < b;
                          });
        for (size_t i = 0; i < taken && around.size() < limit; ++i) {
          const uint32_t other = back ? from[edges[i]] : to[edges[i]];
          if (std::find(around.begin(), around.end(), other) != around.end()) continue;
          around.push_back(other), ahead.push_back(other);
        }
      }
      front = std::move(ahead);
    }
  }
  return around;
}

PageGraph MakePageGraph(const model::Model& model, const Graph& graph) {
  return Maker(model, graph).Run();
}

std::string PageReasonsJson() {
  std::string json;
  for (int cause = 0; cause < analysis::kNumCauses; ++cause) {
    json += PageString(analysis::CauseName(static_cast<analysis::Cause>(cause))) + ",";
  }
  return "[" + json + "\"fetched\",\"same unit\",\"may depend\"]";
}

}  // namespace acceltrace::view
