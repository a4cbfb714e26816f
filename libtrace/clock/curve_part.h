// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a curve between two of its knots for four readings at a time. The arithmetic has the
// same order of operations as map.cc, so that the results are bit-identical. Internal.
#ifndef LIBTRACE_CLOCK_CURVE_PART_H_
#define LIBTRACE_CLOCK_CURVE_PART_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

typedef double Doubles __attribute__((vector_size(32)));
typedef uint64_t Longs __attribute__((vector_size(32)));  // unsigned, so that it wraps
inline constexpr size_t kLanes = 4;

// Adding this to a whole number below 2^51 leaves that number in the low bits of the double.
inline constexpr double kMagic = 0x1.8p52;
inline constexpr uint64_t kMagicBits = 0x4338'0000'0000'0000;

#define LANES_INLINE inline __attribute__((always_inline))

// A part of the only curve of a clock that neither wraps nor jumps.
struct CurvePart {
  double left_ns = 0, right_ns = 0;
  double lo = 0, lo_rise = 0, mid = 0, mid_rise = 0, hi = 0, hi_rise = 0;
  double left_slope = 0, right_slope = 0;
  double half_curvature = 0;
  double tick_ns = 0;
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  // Positions in ticks that are in the part together with the next tick; empty if to < from.
  int64_t from = 0, to = -1;

  bool Has(uint64_t ticks) const {
    return to >= from && ticks - base_ticks - static_cast<uint64_t>(from) <=
                             static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }
};

// Returns the part around a position. It is empty where the curve continues beyond its knots, or if
// its numbers are not below 2^48.
CurvePart PartAt(const MapData& data, double position_ns);

// Computes positions in ns. For ticks outside of the part, the result is meaningless.
LANES_INLINE void PositionsOf(const CurvePart& s, const Longs& ticks, Doubles* p) {
  const Longs position = ticks + (kMagicBits - s.base_ticks);
  std::memcpy(p, &position, sizeof(*p));
  *p = (*p - kMagic) * s.tick_ns;
}

// Computes OffsetAt() of positions within the part.
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
