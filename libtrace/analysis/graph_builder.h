// SPDX-License-Identifier: Apache-2.0
//
// How a graph is put together. Internal.
#ifndef LIBTRACE_ANALYSIS_GRAPH_BUILDER_H_
#define LIBTRACE_ANALYSIS_GRAPH_BUILDER_H_

#include <deque>
#include <vector>

#include "libtrace/analysis/graph.h"

namespace acceltrace::analysis {

class GraphBuilder {
 public:
  GraphBuilder(int64_t begin_ns, int64_t end_ns) {
    graph_.begin_ns = begin_ns, graph_.end_ns = end_ns;
  }
  uint32_t Node(Graph::Kind kind, uint32_t row, double at_ns, uint32_t device = 0);
  // From kNone: none.
  void Edge(uint32_t from, uint32_t to, double ns = 0, Cause cause = kByOrder, double tracer_ns = 0,
            Hold hold = Hold::kKnown);
  size_t edges() const { return edges_.to.size(); }
  double EdgeNs(size_t edge) const { return edges_.ns[edge]; }
  void SetExcess(size_t edge, double ns) { edges_.excess_ns[edge] = static_cast<float>(ns); }
  void SetCause(uint32_t node, Cause cause) { graph_.cause[node] = cause; }
  double At(uint32_t node) const { return graph_.at_ns[node]; }
  // A host time since the run's begin; far before it if it is not known.
  double Since(int64_t at_ns) const {
    int64_t since_ns;
    return __builtin_sub_overflow(at_ns, graph_.begin_ns, &since_ns)
               ? static_cast<double>(at_ns)
               : static_cast<double>(since_ns);
  }
  bool Within(int64_t at_ns) const { return at_ns >= graph_.begin_ns && at_ns <= graph_.end_ns; }
  Graph& graph() { return graph_; }
  Graph Finish();

 private:
  // In the order in which they were added. There are more of them than of anything else in a
  // report: columns in small pieces have no room to spare, and each goes when it is sorted.
  struct Drafts {
    std::deque<uint32_t> from, to;
    std::deque<double> ns;
    std::deque<float> tracer_ns, excess_ns;
    std::deque<Cause> cause;
    std::deque<Hold> hold;
  };
  Graph graph_;
  Drafts edges_;
};

// The nodes of commands and jobs; kNone where there is none.
struct DeviceNodes {
  std::vector<uint32_t> fetch_of;    // by command
  std::vector<uint32_t> completion;  // by job
  std::vector<uint32_t> doorbell;    // by job, of the host
  // Commands as they lie in their queues, queue by queue, and where each queue begins.
  std::vector<uint32_t> in_queue;
  std::vector<size_t> queue_begin;
};

DeviceNodes AddDeviceNodes(const model::Model& model, GraphBuilder* builder);
void AddHostNodes(const model::Model& model, const TracerWork& tracer, DeviceNodes* device,
                  GraphBuilder* builder);
void AddDeviceEdges(const model::Model& model, const DeviceNodes& device, GraphBuilder* builder);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_GRAPH_BUILDER_H_
