// SPDX-License-Identifier: Apache-2.0
//
// How long a number of ticks takes between two times, for one pair of times after the other.
//
// What Map::Length() finds out of a pair depends, but for its middle, on the knots around it alone:
// most pairs lie between the same two as the pair before. The arithmetic is that of duration.cc,
// operation by operation, so that the results are the same to the bit.
#ifndef LIBTRACE_CLOCK_PACES_H_
#define LIBTRACE_CLOCK_PACES_H_

#include <cstdint>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// Not for several threads at once.
class Paces {
 public:
  // map: need not be valid until it is asked.
  Paces(const Map& map, uint64_t ticks) : map_(map), ticks_(ticks) {}

  // Of a pair that lies well between two knots: *length is then Length(ticks, ticks, from, to) of
  // the map. False: it has to be asked.
  bool Find(const DeviceTime& from, const DeviceTime& to, Interval* length);

 private:
  struct Segment {
    uint32_t epoch = kNoEpoch;
    uint64_t base_ticks = 0;
    // Without a tick at the beginning and two at the end, to be sure of what is rounded.
    double left_ns = 0, right_ns = 0;
    // Bounds of host ns in a nominal ns; of drift, in ns a second.
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
