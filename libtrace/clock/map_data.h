// SPDX-License-Identifier: Apache-2.0
//
// What a finished Map holds. Room: libtrace/clock, not for other rooms.
#ifndef LIBTRACE_CLOCK_MAP_DATA_H_
#define LIBTRACE_CLOCK_MAP_DATA_H_

#include <cstdint>
#include <vector>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/estimator.h"

namespace acceltrace::clock::internal {

// Bounds of host - base_host_ns - position at a position of a count.
struct Knot {
  double position_ns = 0;
  double lo_ns = 0, mid_ns = 0, hi_ns = 0;
};

// Knots of a count, and how it goes on outside of them.
struct Curve {
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  std::vector<Knot> knots;  // by position, at least one
  // Bounds of the slope (ns per nominal ns) before the first and after the last knot.
  double first_slope_lo = 0, first_slope_hi = 0, last_slope_lo = 0, last_slope_hi = 0;

  int64_t first_host_ns() const;
  int64_t last_host_ns() const;
};

struct MapData {
  TickLine line;
  double curvature = 0;       // 1/ns: how fast the slope may change
  std::vector<Curve> curves;  // by host time
  Quality quality;
};

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_MAP_DATA_H_
