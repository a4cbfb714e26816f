// SPDX-License-Identifier: Apache-2.0
//
// What if the program were written differently?
//
// An edit changes the dependency graph in place, as a change of the program would: copies are
// merged, waits disappear, calls are not made. The editor undoes it when it is destroyed. What the
// replay of the edited graph saves is the most that such a change can gain, since the trace does
// not tell whether the program would still be correct.
#ifndef LIBTRACE_ANALYSIS_WHATIF_EDIT_H_
#define LIBTRACE_ANALYSIS_WHATIF_EDIT_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/whatif/graph.h"

namespace acceltrace::analysis {

// What an edit changed.
struct Edited {
  uint64_t count = 0;  // number of what the edit is named after: copies, waits, calls or commands
  uint64_t bytes = 0;
  double ns = 0;                       // their recorded time; they may have overlapped
  std::vector<uint32_t> rows;          // commands
  std::vector<uint32_t> calls;         // API calls
  std::vector<std::string> ops_fused;  // pairs, "a > b"
};

class Editor {
 public:
  Editor(const model::Model& model, Graph* graph);
  ~Editor() { Undo(); }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  // Merges successive copies of the same direction in a queue to copies of at most kMergedBytes.
  // The calls that only submitted or awaited the others are dropped.
  Edited MergeCopies();
  static constexpr uint64_t kMergedBytes = 4 << 20;
  // Lets each thread wait for jobs only at its end.
  Edited RemoveWaits();
  // Lets copies not wait for earlier computing, nor computing for copies to the host.
  Edited OverlapCopies();
  // Drops calls that create or destroy buffers or map memory.
  Edited RemoveAllocations();
  // Lets the device access the host memory of copies directly: their calls take no longer than
  // other calls that submit.
  Edited PinCopies();
  // Drops the time of the program between its calls.
  Edited RemoveProgram();
  // Merges the jobs that a thread submits in a row.
  Edited BatchJobs();
  // Merges successive commands of the same op within a job.
  Edited MergeCommands();
  // Lets memory be accessed in order: no more rows are opened than for streaming.
  Edited OrderRows();
  // Lets an op receive the result of the previous one without writing it to memory. `pairs` are
  // names as in OpName(); if empty, all that are found. element_bytes is the size of an element.
  Edited FuseOps(const std::vector<std::pair<std::string, std::string>>& pairs,
                 double element_bytes = 4);
  Edited FuseAll() { return FuseOps({}); }
  // Lets waiters poll.
  Edited WakeAtOnce();
  void Undo();

 private:
  void Change();
  void SetEdge(uint32_t edge, double ns);
  void SetTracer(uint32_t edge, double ns);
  void DropEdge(uint32_t edge);
  void SetDemand(uint32_t command, const Demand& demand);
  void SetCost(uint32_t node, double ns);
  void DropCall(uint32_t call);
  void ShortenCall(uint32_t call);
  std::vector<uint32_t> AfterSubmission(uint32_t call) const;
  uint64_t InterruptsIn(const std::vector<uint32_t>& edges) const;
  // The median time that a call takes after its submission (-1 if unknown), and of an interrupt.
  struct Tail {
    double submitted_ns = -1, interrupt_ns = 0;
  };
  void MeasureTails();
  Tail MeasureTail(bool traced) const;
  double Length(uint32_t edge, bool traced) const;
  void DropJob(uint32_t job);
  void DropJobAndWait(uint32_t job);
  bool IsMarker(uint32_t job) const;
  void Delay(uint32_t job, double ns);
  void DropFetch(uint32_t command);
  uint32_t CallBefore(uint32_t call) const;
  void LeaveQueues(const std::set<std::pair<uint32_t, uint32_t>>& queues);  // device, queue
  void MergeInto(uint32_t first, uint32_t command);
  uint32_t CallOf(uint32_t node) const;
  bool IsCopy(uint32_t command) const;
  bool Waits(uint32_t edge) const;
  // The edges within a call, from one of its points to the next.
  std::span<const uint32_t> EdgesOf(uint32_t call) const {
    return std::span(call_edges_)
        .subspan(first_of_call_[call], first_of_call_[call + 1] - first_of_call_[call]);
  }
  void FindEdgesOfCalls();
  void FindAllocations();
  // Returns the commands in queue order.
  const std::vector<uint32_t>& InQueueOrder();

  const model::Model& model_;
  Graph& graph_;
  std::vector<uint8_t> submits_, allocates_, waits_;  // by call
  std::vector<uint32_t> first_of_call_, call_edges_, in_queues_;
  std::vector<std::pair<uint32_t, double>> old_edges_;
  std::vector<std::pair<uint32_t, Demand>> old_demands_;
  std::vector<std::pair<uint32_t, float>> old_costs_;
  std::vector<std::pair<uint32_t, float>> old_tracers_;
  std::vector<Tail> tails_;  // from MeasureTails(): with the tracer, and without it
  std::map<uint32_t, std::vector<double>> interrupts_;  // by thread
  uint64_t before_ = 0, edition_ = 0;  // editions of the graph: before it was changed, and since
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_EDIT_H_
