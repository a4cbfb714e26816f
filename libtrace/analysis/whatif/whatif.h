// SPDX-License-Identifier: Apache-2.0
//
// How long would the run take if a resource were faster, or without the tracer?
//
// The graph is run again: each node comes when everything that it waits for has come, and its own
// costs are divided by the speed of what they are spent on. Commands that stream at the same time
// share the link and the memory of their device: each one progresses in proportion to 1 / (its
// largest use of a shared resource) until one of these is used up, or until the command is as fast
// as its own means allow (max-min fairness of the dominant share). Orders in queues stay as
// recorded; a unit that serves several queues takes their commands round robin as they come.
//
//   prediction = recorded * replay(scaled) / replay(as it was)
//
// The interval covers the replays under other readings of what the trace leaves open: orders that
// may not have to be kept, how rows share banks, how many tags there are and whose turn it was. It
// also covers what another run would take, without the interruptions of this one or with twice as
// many, and the calibration of the tracer's cost if that is removed.
#ifndef LIBTRACE_ANALYSIS_WHATIF_WHATIF_H_
#define LIBTRACE_ANALYSIS_WHATIF_WHATIF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/resources.h"

namespace acceltrace::analysis {

struct Graph;
class Replays;

// One reading of what the trace leaves open.
struct Reading {
  bool keep_assumed = true;  // also keep orders that may not be required
  double one_bank = -1;      // Demand::bus_in_rows, -1: as computed
  bool least_tags = false;   // as few tags as the trace allows
  // Queues keep their recorded turns on a unit; otherwise, it serves them round robin.
  bool keep_turns = false;
  // A waiter is delayed by its wake-up even if it comes after the completion.
  bool keep_sleeps = false;
  // Graph::excess_ns: 0 as it was, -1 without, 1 with as much again.
  double more_excess = 0;
  double tracer = 1;  // factor for the tracer's work
};

// Returns all readings, the most likely first.
const std::vector<Reading>& Readings();

// Returns the time from the run's begin to its last node, or a negative number if the graph has a
// cycle, because the trace contradicts itself. If not null, *at_ns receives when each node comes
// and *order in which order.
double Replay(const Graph& graph, const Scales& scales, const Reading& reading = {},
              std::vector<double>* at_ns = nullptr, std::vector<uint32_t>* order = nullptr);

struct Prediction {
  bool valid = false;
  std::string error;
  double recorded_ns = 0;
  double base_ns = 0;  // the replay as it was, which shows how well the graph fits
  double ns = 0, lo_ns = 0, hi_ns = 0;
  double gain_ns() const { return recorded_ns - ns; }
};
Prediction Predict(const Graph& graph, const Scales& scales);
// as_it_was is replays->RunAll({}) of the graph before it was edited (edit.h).
Prediction Predict(Replays* replays, const Scales& scales, const std::vector<double>& as_it_was);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_WHATIF_H_
