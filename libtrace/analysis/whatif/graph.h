// SPDX-License-Identifier: Apache-2.0
//
// What waited for what? The dependency graph of a run.
//
// A node is an instant. It comes when everything that it waits for has come:
//
//   at(n) = max over edges e to n of (at(from(e)) + cost(e)) + cost(n)
//
//   host        a point of a thread: begin and end of a call, the driver's submit, doorbell and
//               return, begin and end of a wait. It follows the previous point of its thread.
//               The end of a wait also follows the completion that was waited for, and the
//               wake-up if the thread began to wait before that.
//   fetch       commands of a queue that were on the chip at the same tick. It follows the
//               doorbells of their jobs, the previous fetch of the queue, and the command whose
//               end made space on the chip.
//   start       of a command. It follows its fetch, the previous command of its unit, and
//               commands of its queue on other units (or, for waits, of other queues) on which
//               it may depend.
//   end         of a command. It follows its start; its demand determines the time (demand.h).
//   completion  of a job. It follows its commands, and the previous job of its queue.
//
// The trace has the times at which commands started, but not on which others they depend. A command
// is assumed to depend on the last one before it in its queue on each other unit that had ended
// when it started, and certainly does so if that one ended at the very same tick. What no edge
// explains is the node's own cost, so that running the unchanged graph yields the recorded times.
#ifndef LIBTRACE_ANALYSIS_WHATIF_GRAPH_H_
#define LIBTRACE_ANALYSIS_WHATIF_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/analysis/usage/demand.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// What the time of an edge or of a node was spent on.
enum Cause : uint8_t {
  kByOrder,       // nothing; it only preserves an order
  kByProgram,     // the program, outside of all API calls
  kByOutside,     // the same, but off the CPU: asleep, or waiting for a request or another thread
  kByCpu,         // ready to run, while others had the CPU
  kByCall,        // an API call that submits nothing
  kBySubmitCall,  // an API call that submits a job
  kByDriver,      // the driver's submit call
  kByDoorbell,    // a doorbell write under way
  kByFetch,       // fetching commands
  kByCommand,     // a command, split further by its demand
  kByCompletion,  // from the last command to the completion in host memory
  kByWake,        // from there until the waiter runs and its call returns
  kByUnknown,     // something that is not in the trace
  kNumCauses
};
const char* CauseName(Cause cause);
// Returns true if the cause keeps a CPU of the host busy.
constexpr bool TakesCpu(Cause cause) {
  return cause == kByProgram || cause == kByCall || cause == kBySubmitCall || cause == kByDriver;
}

// Why an order is kept.
enum class Hold : uint8_t {
  kKnown,
  kAssumed,  // possibly not required
  kTurn,     // the turns of queues on a unit, as recorded
  kSleeps,   // a waiter and its completion: only if it waits before the completion
};

struct Graph {
  enum class Kind : uint8_t { kHost, kFetch, kStart, kEnd, kCompletion };
  static constexpr uint32_t kNone = UINT32_MAX;

  // Nodes. `row` is the index in `points` of a host point, the first command of a fetch, a command,
  // or a job.
  std::vector<Kind> kind;
  std::vector<Cause> cause;  // of the node's own cost
  std::vector<uint32_t> row;
  std::vector<uint32_t> device;  // not for host points
  std::vector<double> at_ns;     // as recorded, relative to the begin of the run
  std::vector<float> cost_ns;    // its own cost

  // Edges, sorted by the node that they lead to: [first_edge[n], first_edge[n + 1]).
  std::vector<uint32_t> first_edge, from, to;
  std::vector<double> edge_ns;
  // The value of edge_ns if an edit (edit.h) removed the edge, which then delays nothing and
  // requires nothing.
  static constexpr double kGone = -1e18;
  std::vector<float> tracer_ns;  // part of edge_ns that is due to the tracer
  // Part of edge_ns on the host by which an edge is longer than similar ones, for instance due to
  // an unrelated interrupt. Another run may have it elsewhere or not at all.
  std::vector<float> excess_ns;
  std::vector<Cause> edge_cause;
  std::vector<Hold> hold;
  // Edges by the node from which they come: first_next[n] is an index in `next`, which has edges.
  std::vector<uint32_t> first_next, next;

  // The points of host threads.
  struct Point {
    uint32_t tid;
    uint32_t api_row;  // the call that it begins, ends or is in; model::kNoRow if none
  };
  std::vector<Point> points;

  std::vector<Demand> demands;     // by command
  std::vector<DeviceRates> rates;  // by device
  std::vector<uint32_t> start_of;  // start node of each command, followed by its end node; kNone

  int64_t begin_ns = 0, end_ns = 0;  // of the run, as in the breakdown
  uint32_t last = kNone;             // the node with which the run ends
  uint64_t assumed_orders = 0;
  // From a completion until a polling thread notices it: the interrupt and a call. Any further time
  // of a wake-up is due to sleeping.
  double asking_ns = 0;
  // Time of jobs of which either the host's or the device's side is missing. Their dependencies are
  // not known, and their time appears to be the host's.
  double unplaced_ns = 0;
  // The tracer's work at the limits of its calibration, relative to the assumed work.
  double tracer_low = 1, tracer_high = 1;
  // The host's work takes at least this factor times the sum of it, given the number of CPUs. 0:
  // not known.
  double cpu_scale = 0;
  // Whether the trace shows when threads slept; otherwise, the program's time between calls may
  // have been waiting.
  bool sleep_known = false;
  // Sleep was not recorded, and either more threads than CPUs work for the run, or they wake up
  // late: a thread that seems to wake up or to compute may have waited for a CPU.
  bool crowded = false;
  // 0 for the original graph, and a different number for each way in which it is edited (edit.h).
  uint64_t edition = 0;
  size_t size() const { return kind.size(); }
  // Returns true if an edge delays its node, given these times. A thread that begins to wait after
  // the completion continues at once, so it is not delayed by a wake-up.
  bool Counts(uint32_t edge, const std::vector<double>& at) const {
    if (hold[edge] != Hold::kSleeps) return true;
    for (uint32_t e = first_edge[to[edge]]; e < first_edge[to[edge] + 1]; ++e) {
      if (hold[e] != Hold::kSleeps) return at[from[edge]] >= at[from[e]];
    }
    return true;
  }
  double RunNs() const { return last == kNone ? 0 : at_ns[last]; }
};

// begin_ns and end_ns are those of the breakdown.
Graph BuildGraph(const model::Model& model, const TracerWork& tracer, int64_t begin_ns,
                 int64_t end_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_GRAPH_H_
