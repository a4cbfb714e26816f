// SPDX-License-Identifier: Apache-2.0
//
// A curve between two of its knots, for four readings at a time. The arithmetic is that of map.cc,
// operation by operation, so that the results are the same to the bit. Internal.
#ifndef LIBTRACE_CLOCK_CURVE_PART_H_
#define LIBTRACE_CLOCK_CURVE_PART_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

typedef double Doubles __attribute__((vector_size(32)));
typedef uint64_t Longs __attribute__((vector_size(32)));  // modulo 2^64, where signed ones overflow
inline constexpr size_t kLanes = 4;

// Whole numbers below 2^51 are the low bits of a double that this was added to.
inline constexpr double kMagic = 0x1.8p52;
inline constexpr uint64_t kMagicBits = 0x4338'0000'0000'0000;

#define LANES_INLINE inline __attribute__((always_inline))

// Of a curve that is the only one, of a clock that neither wraps nor jumps.
struct CurvePart {
  double left_ns = 0, right_ns = 0;
  double lo = 0, lo_rise = 0, mid = 0, mid_rise = 0, hi = 0, hi_rise = 0;
  double left_slope = 0, right_slope = 0;
  double half_curvature = 0;
  double tick_ns = 0;
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  // Positions in ticks that lie in it, and one more tick as well; none: to < from.
  int64_t from = 0, to = -1;

  bool Has(uint64_t ticks) const {
    return to >= from && ticks - base_ticks - static_cast<uint64_t>(from) <=
                             static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }
};

// Around a position; none of it where the curve goes beyond its knots, or numbers are too large:
// those of a part are below 2^48.
CurvePart PartAt(const MapData& data, double position_ns);

// Positions in ns; of ticks that are not in the part anything.
LANES_INLINE void PositionsOf(const CurvePart& s, const Longs& ticks, Doubles* p) {
  const Longs position = ticks + (kMagicBits - s.base_ticks);
  std::memcpy(p, &position, sizeof(*p));
  *p = (*p - kMagic) * s.tick_ns;
}

// OffsetAt() of positions in the part.
LANES_INLINE void OffsetsOf(const CurvePart& s, const Doubles& p, Doubles* lo, Doubles* mid,
                            Doubles* hi) {
  const Doubles a = p - s.left_ns, b = s.right_ns - p, whole = a + b;
  const Doubles bend = s.half_curvature * (a * 1e-9) * (b * 1e-9);
  const Doubles weight = a / whole;
  const Doubles seconds = whole * 1e-9;
  const Doubles u = weight * (1 - weight);
  *lo = (s.lo + weight * s.lo_rise) - bend;
  *hi = (s.hi + weight * s.hi_rise) + bend;
  const Doubles middle =
      (s.mid + weight * s.mid_rise) + u * ((1 - weight) * (s.left_slope * seconds - s.mid_rise) -
                                           weight * (s.right_slope * seconds - s.mid_rise));
  *mid = middle < *lo ? *lo : *hi < middle ? *hi : middle;
}

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_CURVE_PART_H_
