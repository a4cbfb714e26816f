// SPDX-License-Identifier: Apache-2.0
//
// What if the program were written differently?
//
// An edit changes the dependency graph in place, as a change of the program would: copies become
// one, waits go away, calls are not made. It is undone when the editor goes. What the replay of
// the edited graph saves is what such a change brings at most: the trace does not say whether
// the program's results allow it.
#ifndef LIBTRACE_ANALYSIS_EDIT_H_
#define LIBTRACE_ANALYSIS_EDIT_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/graph.h"

namespace acceltrace::analysis {

// What an edit changed.
struct Edited {
  uint64_t count = 0;  // of what the edit is named for: copies, waits, calls, commands
  uint64_t bytes = 0;
  double ns = 0;                       // recorded time of them; they may have run side by side
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

  // Copies of one direction that follow each other in a queue become one, of at most
  // kMergedBytes. The calls that only submitted or awaited the others are not made.
  Edited MergeCopies();
  static constexpr uint64_t kMergedBytes = 4 << 20;
  // No thread waits for a job but at its end.
  Edited RemoveWaits();
  // Copies do not wait for the computing before them, nor computing for copies out.
  Edited OverlapCopies();
  // Calls that create or destroy buffers or map memory are not made.
  Edited RemoveAllocations();
  // Host memory that a copy needs is reached by the device itself: its call takes no longer than
  // others that submit.
  Edited PinCopies();
  // The program does nothing between its calls.
  Edited RemoveProgram();
  // Jobs that a thread submits one after the other become one.
  Edited BatchJobs();
  // Commands of one op that follow each other in a job become one.
  Edited MergeCommands();
  // Memory is accessed in order: no rows are opened beyond what streaming takes.
  Edited OrderRows();
  // An op takes what the one before it made without memory in between. Pairs by name, as
  // OpName(); none: all that are found. elements_bytes: of one element.
  Edited FuseOps(const std::vector<std::pair<std::string, std::string>>& pairs,
                 double element_bytes = 4);
  Edited FuseAll() { return FuseOps({}); }
  // Waiters poll.
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
  // What a call takes behind its submission, and an interrupt in it; -1: not known.
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
  // Edges within a call, from one of its points to another.
  std::span<const uint32_t> EdgesOf(uint32_t call) const {
    return std::span(call_edges_)
        .subspan(first_of_call_[call], first_of_call_[call + 1] - first_of_call_[call]);
  }
  void FindEdgesOfCalls();
  void FindAllocations();
  // Commands in the order of their queues.
  const std::vector<uint32_t>& InQueueOrder();

  const model::Model& model_;
  Graph& graph_;
  std::vector<uint8_t> submits_, allocates_, waits_;  // by call
  std::vector<uint32_t> first_of_call_, call_edges_, in_queues_;
  std::vector<std::pair<uint32_t, double>> old_edges_;
  std::vector<std::pair<uint32_t, Demand>> old_demands_;
  std::vector<std::pair<uint32_t, float>> old_costs_;
  std::vector<std::pair<uint32_t, float>> old_tracers_;
  std::vector<Tail> tails_;  // MeasureTails(): with the tracer and without it
  std::map<uint32_t, std::vector<double>> interrupts_;  // by thread
  uint64_t before_ = 0, edition_ = 0;  // of the graph: before it was changed, and since
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_EDIT_H_
