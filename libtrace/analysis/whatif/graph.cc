// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/graph.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "libtrace/analysis/whatif/graph_builder.h"

namespace acceltrace::analysis {

const char* CauseName(Cause cause) {
  static constexpr const char* kNames[kNumCauses] = {
      "order",           "program", "waiting outside", "waiting for a CPU", "API call",
      "submitting call", "driver",  "doorbell",        "fetching",          "command",
      "completion",      "wake-up", "unknown",
  };
  return cause < kNumCauses ? kNames[cause] : "unknown";
}

uint32_t GraphBuilder::Node(Graph::Kind kind, uint32_t row, double at_ns, uint32_t device) {
  graph_.device.push_back(device);
  graph_.kind.push_back(kind);
  graph_.row.push_back(row);
  graph_.at_ns.push_back(at_ns);
  graph_.cause.push_back(kByUnknown);
  graph_.cost_ns.push_back(0);
  return static_cast<uint32_t>(graph_.size() - 1);
}

void GraphBuilder::Edge(uint32_t from, uint32_t to, double ns, Cause cause, double tracer_ns,
                        Hold hold) {
  if (from == Graph::kNone || from == to) return;
  const size_t at = edges_ % kPiece;
  if (at == 0) pieces_.emplace_back(new Draft[kPiece]);
  const double held_ns = std::max(0.0, ns);
  pieces_.back()[at] = {
      held_ns, from, to, static_cast<float>(std::clamp(tracer_ns, 0.0, held_ns)), 0, cause, hold};
  ++edges_;
}

// Sorts edges by where they lead to, and lists them by where they come from.
void GraphBuilder::SortEdges() {
  const size_t nodes = graph_.size(), edges = edges_;
  graph_.first_edge.assign(nodes + 1, 0);
  graph_.first_next.assign(nodes + 1, 0);
  EachDraft([this](const Draft& draft) {
    ++graph_.first_edge[draft.to + 1];
    ++graph_.first_next[draft.from + 1];
    graph_.assumed_orders += draft.hold == Hold::kAssumed;
  });
  std::partial_sum(graph_.first_edge.begin(), graph_.first_edge.end(), graph_.first_edge.begin());
  std::partial_sum(graph_.first_next.begin(), graph_.first_next.end(), graph_.first_next.begin());
  graph_.from.resize(edges), graph_.to.resize(edges);
  graph_.edge_ns.resize(edges), graph_.tracer_ns.resize(edges), graph_.excess_ns.resize(edges);
  graph_.edge_cause.resize(edges), graph_.hold.resize(edges);
  std::vector<uint32_t> places(graph_.first_edge.begin(), graph_.first_edge.end() - 1);
  for (size_t edge = 0; edge < edges; ++edge) {
    const Draft& draft = DraftOf(edge);
    const uint32_t place = places[draft.to]++;
    graph_.from[place] = draft.from, graph_.to[place] = draft.to;
    graph_.edge_ns[place] = draft.ns;
    graph_.tracer_ns[place] = draft.tracer_ns, graph_.excess_ns[place] = draft.excess_ns;
    graph_.edge_cause[place] = draft.cause, graph_.hold[place] = draft.hold;
    if (edge % kPiece == kPiece - 1) pieces_[edge / kPiece].reset();
  }
  pieces_.clear();
  graph_.next.resize(edges);
  places.assign(graph_.first_next.begin(), graph_.first_next.end() - 1);
  for (uint32_t e = 0; e < edges; ++e) graph_.next[places[graph_.from[e]]++] = e;
}

// If a node came later than its edges explain, the rest is its own cost.
Graph GraphBuilder::Finish() {
  SortEdges();
  const size_t nodes = graph_.size();
  for (uint32_t n = 0; n < nodes; ++n) {
    if (graph_.kind[n] == Graph::Kind::kEnd) continue;  // determined by its demand
    double ready_ns = 0;
    for (uint32_t e = graph_.first_edge[n]; e < graph_.first_edge[n + 1]; ++e) {
      if (!graph_.Counts(e, graph_.at_ns)) continue;
      ready_ns = std::max(ready_ns, graph_.at_ns[graph_.from[e]] + graph_.edge_ns[e]);
    }
    graph_.cost_ns[n] = static_cast<float>(std::max(0.0, graph_.at_ns[n] - ready_ns));
  }
  for (uint32_t n = 0; n < nodes; ++n) {
    if (graph_.last == Graph::kNone || graph_.at_ns[n] > graph_.at_ns[graph_.last]) {
      graph_.last = n;
    }
  }
  return std::move(graph_);
}

namespace {

// Threads that wait for a CPU appear busy if waiting is not recorded: their total is limited to the
// length of the run.
double CpuScale(const Graph& graph, uint32_t cpus) {
  double busy_ns = 0;
  for (size_t e = 0; e < graph.to.size(); ++e) {
    if (TakesCpu(graph.edge_cause[e])) busy_ns += graph.edge_ns[e];
  }
  if (cpus == 0 || busy_ns <= 0) return 0;
  return std::min(1.0 / cpus, graph.RunNs() / busy_ns);
}

double UnplacedNs(const model::Model& model, int64_t begin_ns, int64_t end_ns) {
  const model::Jobs& jobs = model.jobs;
  double sum_ns = 0;
  const auto add = [&](double from_ns, double to_ns) {
    from_ns = std::max(from_ns, static_cast<double>(begin_ns));
    sum_ns += std::max(0.0, std::min(to_ns, static_cast<double>(end_ns)) - from_ns);
  };
  for (size_t j = 0; j < jobs.size(); ++j) {
    const bool begun = jobs.submit_ns[j] != model::kNoTime;
    const bool done = jobs.complete_ns[j] != model::kNoTime;
    if (jobs.on_device[j] && jobs.on_host[j] && begun && done) continue;
    if (jobs.on_device[j]) {
      add(static_cast<double>(jobs.fetched.host[j].lo_ns),
          static_cast<double>(jobs.completion.host[j].hi_ns));
    } else if (begun && done) {
      add(static_cast<double>(jobs.submit_ns[j]), static_cast<double>(jobs.complete_ns[j]));
    }
  }
  return sum_ns;
}

}  // namespace

Graph BuildGraph(const model::Model& model, const TracerWork& tracer, int64_t begin_ns,
                 int64_t end_ns) {
  GraphBuilder builder(begin_ns, end_ns);
  if (end_ns > begin_ns) {
    DeviceNodes device = AddDeviceNodes(model, &builder);
    AddHostNodes(model, tracer, &device, &builder);
    AddDeviceEdges(model, device, &builder);
  }
  Graph graph = builder.Finish();
  graph.sleep_known = model.system.runs.size() > 0;
  std::set<uint32_t> threads;
  for (const Graph::Point& point : graph.points) threads.insert(point.tid);
  const uint32_t cpus = model.info.num_cpus();
  graph.crowded = !graph.sleep_known && (graph.crowded || (cpus > 0 && threads.size() > cpus));
  graph.cpu_scale = CpuScale(graph, cpus);
  graph.unplaced_ns = UnplacedNs(model, begin_ns, end_ns);
  return graph;
}

}  // namespace acceltrace::analysis
