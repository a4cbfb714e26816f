// SPDX-License-Identifier: Apache-2.0
//
// How far can device times be trusted? libtrace/clock reports how well its fit went; this adds what
// that means for the events of the trace.
#ifndef LIBTRACE_ANALYSIS_CHECKS_CLOCK_QUALITY_H_
#define LIBTRACE_ANALYSIS_CHECKS_CLOCK_QUALITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct ClockQuality {
  uint32_t device = 0;
  bool valid = false;
  std::string error;  // why the clock is not valid
  uint64_t nominal_hz = 0;
  clock::Quality fit;
  // The bound of a single event: half the width of the intervals of all job times.
  uint64_t events = 0;
  int64_t bound_p50_ns = 0, bound_p99_ns = 0, bound_max_ns = 0;
  // Events before the first or after the last clock sample, whose times are extrapolated.
  uint64_t outside = 0;
};

// What the orders of events on two devices tell about their clocks.
struct ClockEdge {
  uint32_t from = 0, to = 0;
  uint64_t orders = 0;
  uint64_t contradicting = 0;
  // The shortest time from the end on one device to the begin on the other.
  model::Interval least;
  int64_t bound_p50_ns = 0;  // median of the bounds of all of them
};

// kFit leaves out how wide the bounds are.
enum class ClockParts { kAll, kFit };
std::vector<ClockQuality> ComputeClockQuality(const model::Model& model,
                                              ClockParts parts = ClockParts::kAll);
// Sorted by (from, to).
std::vector<ClockEdge> ComputeClockEdges(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_CLOCK_QUALITY_H_
