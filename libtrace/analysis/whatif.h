// SPDX-License-Identifier: Apache-2.0
//
// How long would the run take if a resource were faster, or the tracer were not there?
//
// The graph is run again: each node comes when all that it waits for has come, and its own costs
// are divided by the speed of what they are spent on. Commands that stream at the same time
// share the link and the memory of their device: each one's progress grows in proportion to
// 1 / (its largest use of a shared resource) until one of them is used up, or the command is as
// fast as its own means allow (max-min fairness of the dominant share). Orders in queues stay as
// they were recorded; a unit that several queues use takes their commands round robin, as they
// come.
//
//   prediction = recorded * replay(scaled) / replay(as it was)
//
// The interval is what the replay gives under the other readings of what the trace does not
// say: orders that may not have to be kept, how rows share banks, how many tags there are, whose
// turn it was; what another run would take: without the interruptions of this one, or with as
// much again; and the calibration of the tracer's cost where that is taken off.
#ifndef LIBTRACE_ANALYSIS_WHATIF_H_
#define LIBTRACE_ANALYSIS_WHATIF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/resources.h"

namespace acceltrace::analysis {

struct Graph;
class Replays;

// One reading of what the trace leaves open.
struct Reading {
  bool keep_assumed = true;  // orders that may not have to be kept
  double one_bank = -1;      // Demand::bus_in_rows, -1: as computed
  bool least_tags = false;   // as few tags as the trace allows
  // Queues keep the turns that they took on a unit; else it takes them round robin, as they come.
  bool keep_turns = false;
  // A waiter is held up by its wake-up even where it comes after the completion.
  bool keep_sleeps = false;
  // Graph::excess_ns: 0 as it was, -1 without, 1 as much again.
  double more_excess = 0;
  double tracer = 1;  // its work, times this
};

// All of them, the likeliest first.
const std::vector<Reading>& Readings();

// The time from the run's begin to its last node; below 0: the graph has a cycle, since the trace
// contradicts itself. at_ns: when each node comes, if not null; order: in what order, likewise.
double Replay(const Graph& graph, const Scales& scales, const Reading& reading = {},
              std::vector<double>* at_ns = nullptr, std::vector<uint32_t>* order = nullptr);

struct Prediction {
  bool valid = false;
  std::string error;
  double recorded_ns = 0;
  double base_ns = 0;  // the replay as it was: how well the graph explains the run
  double ns = 0, lo_ns = 0, hi_ns = 0;
  double gain_ns() const { return recorded_ns - ns; }
};
Prediction Predict(const Graph& graph, const Scales& scales);
// as_it_was: replays->RunAll({}) of the graph before it was edited (edit.h).
Prediction Predict(Replays* replays, const Scales& scales, const std::vector<double>& as_it_was);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_H_
