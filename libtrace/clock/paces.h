// SPDX-License-Identifier: Apache-2.0
//
// Computes how long a number of ticks takes between two times, for many pairs of times in order.
//
// Apart from the middle, the result of Map::Length() only depends on the knots around the pair, and
// most pairs are between the same two knots as the previous one. The arithmetic has the same order
// of operations as duration.cc, so that the results are bit-identical.
#ifndef LIBTRACE_CLOCK_PACES_H_
#define LIBTRACE_CLOCK_PACES_H_

#include <cstdint>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// Not thread-safe.
class Paces {
 public:
  // The map only has to be valid when Find() is called.
  Paces(const Map& map, uint64_t ticks) : map_(map), ticks_(ticks) {}

  // If the pair is well between two knots, sets *length to the map's Length(ticks, ticks, from,
  // to). Otherwise returns false, and the map has to be asked.
  bool Find(const DeviceTime& from, const DeviceTime& to, Interval* length);

 private:
  struct Segment {
    uint32_t epoch = kNoEpoch;
    uint64_t base_ticks = 0;
    // One tick less at the beginning and two at the end, to allow for rounding.
    double left_ns = 0, right_ns = 0;
    // Bounds of host ns per nominal ns, and of the drift in ns per second.
    double rate_lo = 0, rate_hi = 0, drift_lo = 0, drift_hi = 0;
    int64_t length_lo_ns = 0, length_hi_ns = 0;
  };

  bool Enter(const DeviceTime& from);

  Map map_;
  uint64_t ticks_;
  double tick_ns_ = 0;
  Segment segment_;
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_PACES_H_
