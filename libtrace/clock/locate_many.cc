// SPDX-License-Identifier: Apache-2.0
//
// Converts many readings of a clock that neither wraps nor jumps: those between the same two knots
// are placed four at a time.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "libtrace/clock/curve_part.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {
namespace internal {

CurvePart PartAt(const MapData& data, double position_ns) {
  // Sums must stay well below 2^51.
  constexpr double kMost = 0x1p48;
  const Curve& curve = data.curves[0];
  const size_t i = curve.KnotAfter(position_ns);
  CurvePart s;
  if (i == 0 || i == curve.knots.size()) return s;
  const Knot &left = curve.knots[i - 1], &right = curve.knots[i];
  s.left_ns = left.position_ns, s.right_ns = right.position_ns;
  s.lo = left.lo, s.lo_rise = right.lo - left.lo;
  s.mid = left.mid, s.mid_rise = right.mid - left.mid;
  s.hi = left.hi, s.hi_rise = right.hi - left.hi;
  s.left_slope = left.slope_mid, s.right_slope = right.slope_mid;
  s.half_curvature = 0.5 * curve.CurvatureBetween(left, right);
  s.tick_ns = data.line.ns_per_tick();
  s.base_ticks = curve.base_ticks, s.base_host_ns = curve.base_host_ns;
  const double seconds = (s.right_ns - s.left_ns) * 1e-9;
  const double most =
      std::max({std::abs(s.left_ns), std::abs(s.right_ns), std::abs(left.lo), std::abs(right.lo),
                std::abs(left.hi), std::abs(right.hi), std::abs(left.mid), std::abs(right.mid),
                std::abs(s.half_curvature) * seconds * seconds, std::abs(left.slope_mid) * seconds,
                std::abs(right.slope_mid) * seconds, s.tick_ns});
  if (!(most < kMost) || !(s.left_ns / s.tick_ns > -kMost) || !(s.right_ns / s.tick_ns < kMost)) {
    return s;
  }
  // Positions increase with their ticks by about a tick each, and their rounding is bounded.
  s.from = static_cast<int64_t>(s.left_ns / s.tick_ns) - 1;
  while (data.PositionNs(s.from) < s.left_ns) ++s.from;
  s.to = static_cast<int64_t>(s.right_ns / s.tick_ns) + 1;
  while (!(data.PositionNs(s.to) + s.tick_ns < s.right_ns) && s.to >= s.from) --s.to;
  return s;
}

}  // namespace internal

namespace {

using internal::CurvePart;
using internal::Doubles;
using internal::kLanes;
using internal::kMagic;
using internal::kMagicBits;
using internal::Longs;
using internal::MapData;

LANES_INLINE void Round(const Doubles& x, Doubles* rounded) {
  const Doubles nearest = (x + kMagic) - kMagic;
  // std::round() rounds halves away from zero.
  const Doubles rest = x - nearest;
  const Doubles zero = {};
  *rounded = ((rest == 0.5) & (x > zero)) ? nearest + 1 : nearest;
  *rounded = ((rest == -0.5) & (x < zero)) ? nearest - 1 : *rounded;
}

LANES_INLINE void Store(const Doubles& whole, int64_t add, void* to) {
  const Doubles moved = whole + kMagic;
  Longs bits;
  std::memcpy(&bits, &moved, sizeof(bits));
  bits += static_cast<uint64_t>(add) - kMagicBits;
  std::memcpy(to, &bits, sizeof(bits));
}

// Converts kLanes readings, all of which must be in the part.
LANES_INLINE void PlaceBody(const CurvePart& s, const uint64_t* raw_ticks, int64_t* mid_ns,
                            uint64_t* before_ns, uint64_t* after_ns) {
  Longs ticks;
  std::memcpy(&ticks, raw_ticks, sizeof(ticks));
  Doubles p, lo, mid, hi;
  PositionsOf(s, ticks, &p);
  OffsetsOf(s, p, &lo, &mid, &hi);

  const Doubles next = p + s.tick_ns;
  const Doubles a = next - s.left_ns, b = s.right_ns - next;
  const Doubles bend = s.half_curvature * (a * 1e-9) * (b * 1e-9);
  const Doubles weight = a / (a + b);
  const Doubles end_hi = (s.hi + weight * s.hi_rise) + bend;

  const Doubles low = p + lo;
  Doubles first = (low + kMagic) - kMagic;
  first = first > low ? first - 1 : first;
  const Doubles hi_less = hi - s.tick_ns;
  const Doubles high = next + (end_hi < hi_less ? hi_less : end_hi);
  Doubles last = (high + kMagic) - kMagic;
  last = last < high ? last + 1 : last;
  Doubles middle;
  Round(p + mid + 0.5 * s.tick_ns, &middle);
  middle = middle < first ? first : last < middle ? last : middle;
  Store(middle, s.base_host_ns, mid_ns);
  Store(middle - first, 0, before_ns);
  Store(last - middle, 0, after_ns);
}

#define PLACE_FOR(NAME, TARGET)                                                         \
  TARGET void Place##NAME(const CurvePart& s, const uint64_t* raw_ticks, size_t groups, \
                          int64_t* mid_ns, uint64_t* before_ns, uint64_t* after_ns) {   \
    for (size_t i = 0; i < groups * kLanes; i += kLanes) {                              \
      PlaceBody(s, raw_ticks + i, mid_ns + i, before_ns + i, after_ns + i);             \
    }                                                                                   \
  }

PLACE_FOR(Baseline, )
#if defined(__x86_64__)
PLACE_FOR(Avx2, __attribute__((target("avx2"))))
#endif

using PlaceMany = void (*)(const CurvePart&, const uint64_t*, size_t, int64_t*, uint64_t*,
                           uint64_t*);

PlaceMany Chosen() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return PlaceAvx2;
#endif
  return PlaceBaseline;
}

}  // namespace

void Map::LocateAll(std::span<const uint64_t> raw_ticks, const TimeColumns& out) const {
  const MapData& data = *data_;
  const PlaceMany place = Chosen();
  CurvePart part;
  const size_t rows = raw_ticks.size();
  for (size_t row = 0; row < rows;) {
    if (!part.Has(raw_ticks[row])) {
      const int64_t position = data.line.SignedTicks(data.curves[0].base_ticks, raw_ticks[row]);
      part = PartAt(data, data.PositionNs(position));
    }
    size_t end = row;
    while (end < rows && part.Has(raw_ticks[end])) ++end;
    if (end == row) {
      const DeviceTime time = Locate(raw_ticks[row], {});
      out.ticks[row] = time.ticks, out.epoch[row] = time.epoch;
      out.mid_ns[row] = time.host.mid_ns;
      out.before_ns[row] =
          static_cast<uint64_t>(time.host.mid_ns) - static_cast<uint64_t>(time.host.lo_ns);
      out.after_ns[row] =
          static_cast<uint64_t>(time.host.hi_ns) - static_cast<uint64_t>(time.host.mid_ns);
      ++row;
      continue;
    }
    const size_t count = end - row, whole = count / kLanes;
    std::copy_n(raw_ticks.data() + row, count, out.ticks + row);
    std::fill_n(out.epoch + row, count, 0);
    place(part, raw_ticks.data() + row, whole, out.mid_ns + row, out.before_ns + row,
          out.after_ns + row);
    if (const size_t rest = count % kLanes; rest != 0) {
      const size_t at = row + whole * kLanes;
      uint64_t ticks[kLanes], before_ns[kLanes], after_ns[kLanes];
      int64_t mid_ns[kLanes];
      std::fill_n(ticks, kLanes, raw_ticks[at]);
      std::copy_n(raw_ticks.data() + at, rest, ticks);
      place(part, ticks, 1, mid_ns, before_ns, after_ns);
      std::copy_n(mid_ns, rest, out.mid_ns + at);
      std::copy_n(before_ns, rest, out.before_ns + at);
      std::copy_n(after_ns, rest, out.after_ns + at);
    }
    row = end;
  }
}

}  // namespace acceltrace::clock
