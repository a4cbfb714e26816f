// SPDX-License-Identifier: Apache-2.0
//
// What waited for what? The dependency graph of a run.
//
// A node is an instant; it comes when all that it waits for has come:
//
//   at(n) = max over edges e to n of (at(from(e)) + cost(e)) + cost(n)
//
//   host        a point of a thread: a call's begin and end, the driver's submit, doorbell,
//               return, a wait's begin and end. After the point before it in its thread; the end
//               of a wait also after the completion that was waited for, and its wake-up, if
//               the thread came before that.
//   fetch       commands of a queue that were on the chip at the same tick. After the doorbells of
//               their jobs, the fetch before it in its queue, and the command that made room.
//   start       of a command. After its fetch, the command before it on its unit, and commands of
//               its queue on other units (or, by its wait, of other queues) that it may depend on.
//   end         of a command: after its start. How long it takes is its demand (demand.h).
//   completion  of a job: after its commands, and the job before it in its queue.
//
// Which commands wait for which is not recorded, only when each one started. A command is held to
// depend on the last one before it in its queue on each other unit that had ended when it
// started; that one binds if it ended at that very tick. What no edge explains is the node's own
// cost, so that the graph, run as it is, gives the times that were recorded.
#ifndef LIBTRACE_ANALYSIS_GRAPH_H_
#define LIBTRACE_ANALYSIS_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/demand.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// What an edge's or a node's time was spent on.
enum Cause : uint8_t {
  kByOrder,       // nothing: one after the other
  kByProgram,     // outside of all API calls
  kByOutside,     // there, off the CPU: for time, for a request, for another thread
  kByCpu,         // ready to go on, while others had the CPU
  kByCall,        // in an API call that submits nothing
  kBySubmitCall,  // in one that submits
  kByDriver,      // in the driver's submit
  kByDoorbell,    // a doorbell on its way
  kByFetch,       // commands on their way to the device
  kByCommand,     // a command, split further by its demand
  kByCompletion,  // from the last command to the completion in host memory
  kByWake,        // from there to the waiter, and to its call's return
  kByUnknown,     // something that the trace does not show
  kNumCauses
};
const char* CauseName(Cause cause);
// Whether it keeps a CPU of the host busy.
constexpr bool TakesCpu(Cause cause) {
  return cause == kByProgram || cause == kByCall || cause == kBySubmitCall || cause == kByDriver;
}

// Whether an order had to be kept.
enum class Hold : uint8_t {
  kKnown,
  kAssumed,  // nobody knows
  kTurn,     // of queues on a unit: it was as it was
  kSleeps,   // a waiter and its completion: only if it came to wait before that
};

struct Graph {
  enum class Kind : uint8_t { kHost, kFetch, kStart, kEnd, kCompletion };
  static constexpr uint32_t kNone = UINT32_MAX;

  // Nodes. row: of a host point its place in `points`; a fetch's first command; a command; a job.
  std::vector<Kind> kind;
  std::vector<Cause> cause;  // of its own cost
  std::vector<uint32_t> row;
  std::vector<uint32_t> device;  // of all but host points
  std::vector<double> at_ns;     // as recorded, from the run's begin
  std::vector<float> cost_ns;    // its own

  // Edges, sorted by the node that they lead to: [first_edge[n], first_edge[n + 1]).
  std::vector<uint32_t> first_edge, from, to;
  std::vector<double> edge_ns;
  // Of edge_ns: an edit (edit.h) took the edge away. Nothing comes later for it, and nothing has to
  // be known earlier.
  static constexpr double kGone = -1e18;
  std::vector<float> tracer_ns;  // of edge_ns: the tracer's own
  // Of edge_ns on the host: more than its like usually takes, as after an interrupt that was not
  // for this run. Another run may have as many of them elsewhere, or none.
  std::vector<float> excess_ns;
  std::vector<Cause> edge_cause;
  std::vector<Hold> hold;
  // The same by the node that they come from: first_next[n] into next, which holds edges.
  std::vector<uint32_t> first_next, next;

  // Host points.
  struct Point {
    uint32_t tid;
    uint32_t api_row;  // the call that it lies in, begins or ends; model::kNoRow
  };
  std::vector<Point> points;

  std::vector<Demand> demands;     // by command
  std::vector<DeviceRates> rates;  // by device
  std::vector<uint32_t> start_of;  // a command's start node, its end node is the next; kNone

  int64_t begin_ns = 0, end_ns = 0;  // of the run, as in the breakdown
  uint32_t last = kNone;             // the node that ends the run
  uint64_t assumed_orders = 0;
  // From a completion on, until a thread that asks again and again instead of sleeping knows of it:
  // the interrupt, and a call. What a wake-up takes beyond it is due to sleep.
  double asking_ns = 0;
  // Time of jobs of which host or device saw nothing: how they hang together with the rest is not
  // known, and what they took looks as if the host had.
  double unplaced_ns = 0;
  // The tracer's work as low and as high as its calibration allows, over what is assumed.
  double tracer_low = 1, tracer_high = 1;
  // The host's work over its CPUs takes at least as long as this times the sum of it. 0: not known.
  double cpu_scale = 0;
  // Whether it was recorded when threads slept; else what a program did between its calls may have
  // been waiting.
  bool sleep_known = false;
  // It was not, and more threads than there are CPUs work for the run, or they wake up late: who
  // seems to wake up or to compute may have waited for a CPU.
  bool crowded = false;
  // 0: as it was built. Another number for each way in which it is edited (edit.h).
  uint64_t edition = 0;
  size_t size() const { return kind.size(); }
  // Whether an edge holds its node up when nodes come at these times. Who comes to wait after the
  // completion goes on at once: what waking takes does not delay it.
  bool Counts(uint32_t edge, const std::vector<double>& at) const {
    if (hold[edge] != Hold::kSleeps) return true;
    for (uint32_t e = first_edge[to[edge]]; e < first_edge[to[edge] + 1]; ++e) {
      if (hold[e] != Hold::kSleeps) return at[from[edge]] >= at[from[e]];
    }
    return true;
  }
  double RunNs() const { return last == kNone ? 0 : at_ns[last]; }
};

// From begin_ns to end_ns: the breakdown's.
Graph BuildGraph(const model::Model& model, const TracerWork& tracer, int64_t begin_ns,
                 int64_t end_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_GRAPH_H_
