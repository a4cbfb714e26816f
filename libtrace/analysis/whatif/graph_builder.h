// SPDX-License-Identifier: Apache-2.0
//
// Assembles a graph. Internal.
#ifndef LIBTRACE_ANALYSIS_WHATIF_GRAPH_BUILDER_H_
#define LIBTRACE_ANALYSIS_WHATIF_GRAPH_BUILDER_H_

#include <memory>
#include <vector>

#include "libtrace/analysis/whatif/graph.h"

namespace acceltrace::analysis {

class GraphBuilder {
 public:
  GraphBuilder(int64_t begin_ns, int64_t end_ns) {
    graph_.begin_ns = begin_ns, graph_.end_ns = end_ns;
  }
  uint32_t Node(Graph::Kind kind, uint32_t row, double at_ns, uint32_t device = 0);
  uint32_t HostPoint(uint32_t tid, uint32_t api_row, double at_ns) {
    graph_.points.push_back({tid, api_row});
    return Node(Graph::Kind::kHost, static_cast<uint32_t>(graph_.points.size() - 1), at_ns);
  }
  // Does nothing if `from` is kNone.
  void Edge(uint32_t from, uint32_t to, double ns = 0, Cause cause = kByOrder, double tracer_ns = 0,
            Hold hold = Hold::kKnown);
  size_t edges() const { return edges_; }
  double EdgeNs(size_t edge) const { return DraftOf(edge).ns; }
  void SetExcess(size_t edge, double ns) { DraftOf(edge).excess_ns = static_cast<float>(ns); }
  void SetCause(uint32_t node, Cause cause) { graph_.cause[node] = cause; }
  double At(uint32_t node) const { return graph_.at_ns[node]; }
  // Returns a host time relative to the begin of the run; a time far before it if it is not known.
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
  struct Draft {
    double ns;
    uint32_t from, to;
    float tracer_ns, excess_ns;
    Cause cause;
    Hold hold;
  };
  // Edges are the most numerous objects of a report. They are stored in pieces of the same size, so
  // that no space is wasted, and each piece is freed once its edges are sorted.
  static constexpr size_t kPiece = 4096;
  const Draft& DraftOf(size_t edge) const { return pieces_[edge / kPiece][edge % kPiece]; }
  Draft& DraftOf(size_t edge) { return pieces_[edge / kPiece][edge % kPiece]; }
  template <typename Visit>
  void EachDraft(const Visit& visit) const {
    for (size_t edge = 0; edge < edges_; ++edge) visit(DraftOf(edge));
  }
  void SortEdges();

  Graph graph_;
  std::vector<std::unique_ptr<Draft[]>> pieces_;  // in the order in which they were added
  size_t edges_ = 0;
};

// The nodes of commands and jobs; kNone if there is none.
struct DeviceNodes {
  std::vector<uint32_t> fetch_of;    // by command
  std::vector<uint32_t> completion;  // by job
  std::vector<uint32_t> doorbell;    // by job; a host point
  // Commands in queue order, and where each queue begins.
  std::vector<uint32_t> in_queue;
  std::vector<size_t> queue_begin;

  // Returns when a job completed, or -1 if it is not known.
  double DoneNs(uint32_t job, const GraphBuilder& builder) const {
    if (job == model::kNoRow || completion[job] == Graph::kNone) return -1;
    return builder.At(completion[job]);
  }
};

// The jobs and commands in the queue when a job was submitted, including its own.
struct QueueDepth {
  uint64_t jobs = 0, commands = 0;
};
// Indexed by job.
std::vector<QueueDepth> FindDepths(const model::Jobs& jobs, const DeviceNodes& device,
                                   const GraphBuilder& builder);

DeviceNodes AddDeviceNodes(const model::Model& model, GraphBuilder* builder);
void AddHostNodes(const model::Model& model, const TracerWork& tracer, DeviceNodes* device,
                  GraphBuilder* builder);
void AddDeviceEdges(const model::Model& model, const DeviceNodes& device, GraphBuilder* builder);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_GRAPH_BUILDER_H_
