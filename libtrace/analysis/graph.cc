// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/graph.h"

#include <algorithm>
#include <numeric>

#include "libtrace/analysis/graph_builder.h"

namespace acceltrace::analysis {

const char* CauseName(Cause cause) {
  static constexpr const char* kNames[kNumCauses] = {
      "order",    "program", "API call",   "submitting call", "driver",  "doorbell",
      "fetching", "command", "completion", "wake-up",         "unknown",
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
  edges_.push_back({from, to, std::max(0.0, ns),
                    static_cast<float>(std::clamp(tracer_ns, 0.0, std::max(0.0, ns))), cause,
                    hold});
}

// Sorts edges by where they lead to, and lists them by where they come from. What a node came
// later than by its edges is its own cost.
Graph GraphBuilder::Finish() {
  const size_t nodes = graph_.size(), edges = edges_.size();
  graph_.first_edge.assign(nodes + 1, 0);
  graph_.first_next.assign(nodes + 1, 0);
  for (const Draft& edge : edges_) {
    ++graph_.first_edge[edge.to + 1];
    ++graph_.first_next[edge.from + 1];
  }
  std::partial_sum(graph_.first_edge.begin(), graph_.first_edge.end(), graph_.first_edge.begin());
  std::partial_sum(graph_.first_next.begin(), graph_.first_next.end(), graph_.first_next.begin());
  graph_.from.resize(edges), graph_.to.resize(edges), graph_.edge_ns.resize(edges);
  graph_.tracer_ns.resize(edges), graph_.edge_cause.resize(edges), graph_.hold.resize(edges);
  graph_.excess_ns.resize(edges);
  graph_.next.resize(edges);
  std::vector<uint32_t> into(graph_.first_edge.begin(), graph_.first_edge.end() - 1);
  for (const Draft& edge : edges_) {
    const uint32_t place = into[edge.to]++;
    graph_.from[place] = edge.from, graph_.to[place] = edge.to;
    graph_.edge_ns[place] = edge.ns, graph_.tracer_ns[place] = edge.tracer_ns;
    graph_.edge_cause[place] = edge.cause, graph_.hold[place] = edge.hold;
    graph_.excess_ns[place] = edge.excess_ns;
    graph_.assumed_orders += edge.hold == Hold::kAssumed;
  }
  std::vector<uint32_t> out(graph_.first_next.begin(), graph_.first_next.end() - 1);
  for (uint32_t e = 0; e < edges; ++e) graph_.next[out[graph_.from[e]]++] = e;
  for (uint32_t n = 0; n < nodes; ++n) {
    if (graph_.kind[n] == Graph::Kind::kEnd) continue;  // its demand says how long
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
  edges_.clear(), edges_.shrink_to_fit();
  return std::move(graph_);
}

Graph BuildGraph(const model::Model& model, const TracerWork& tracer, int64_t begin_ns,
                 int64_t end_ns) {
  GraphBuilder builder(begin_ns, end_ns);
  if (end_ns > begin_ns) {
    DeviceNodes device = AddDeviceNodes(model, &builder);
    AddHostNodes(model, tracer, &device, &builder);
    AddDeviceEdges(model, device, &builder);
  }
  return builder.Finish();
}

}  // namespace acceltrace::analysis
