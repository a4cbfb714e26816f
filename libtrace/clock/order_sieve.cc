// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/order_sieve.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace acceltrace::clock::internal {
namespace {

// Exceeds the rounding of times to whole ns and of sums of numbers below 2^48.
constexpr double kSlackNs = 4;
// Events further away from the curve's base are not handled here.
constexpr double kMostNs = 0x1p48;
// Beyond this, times may be limited by the range of numbers.
constexpr int64_t kMostBaseNs = kMostHostNs / 4;

constexpr uint64_t kLow = 0xffff'ffff, kLowBits = 0x4330'0000'0000'0000;

// Converts numbers below 2^32.
LANES_INLINE void WordsToDoubles(const Longs& words, Doubles* out) {
  const Longs bits = words | kLowBits;
  std::memcpy(out, &bits, sizeof(bits));
  *out -= 0x1p52;
}

// Converts signed numbers as exactly as a cast does.
LANES_INLINE void ToDoubles(const Longs& whole, Doubles* out) {
  constexpr uint64_t kHighBits = 0x4530'0000'8000'0000;
  const Longs low = (whole & kLow) | kLowBits, high = (whole >> 32) ^ kHighBits;
  Doubles low_part;
  std::memcpy(&low_part, &low, sizeof(low)), std::memcpy(out, &high, sizeof(high));
  *out = (*out - (0x1p84 + 0x1p63 + 0x1p52)) + low_part;
}

// Values that are the same for all orders in a part.
struct Limits {
  uint64_t from = 0, span = 0;  // ticks
  // The largest distance of an order's offset above the upper bound, and the smallest one above the
  // lower bound.
  double most_late_ns = 0, least_early_ns = 0;
  double before_room_ns = 0, after_room_ns = 0;  // distance that the tightest bars leave
};

LANES_INLINE void Load(const void* from, Longs* to) { std::memcpy(to, from, sizeof(*to)); }

LANES_INLINE void Widen(const uint32_t* from, Longs* to) {
  typedef uint32_t Words __attribute__((vector_size(16)));
  Words words;
  std::memcpy(&words, from, sizeof(words));
  *to = __builtin_convertvector(words, Longs);
}

// Sets the lanes of the orders that can be ignored: they are certainly in their windows, the curve
// can meet them by the offset of the host's event from the reading, and if kByRoom they are no
// tighter than the bars so far.
template <bool kByRoom>
LANES_INLINE void Pass(const CurvePart& s, const Limits& limits, const Constraints::Run& run,
                       size_t at, Longs* passed, Longs* inside) {
  Longs ticks, host, lo_before, hi_after;
  Load(run.ticks + at, &ticks), Load(run.host_ns + at, &host);
  Widen(run.lo_before + at, &lo_before), Widen(run.hi_after + at, &hi_after);
  *inside = (Longs)(ticks - limits.from <= limits.span);
  Doubles p, lo, mid, hi, host_ns, before_ns, after_ns;
  PositionsOf(s, ticks, &p);
  OffsetsOf(s, p, &lo, &mid, &hi);
  ToDoubles(host - static_cast<uint64_t>(s.base_host_ns), &host_ns);
  const Longs device_first = 0 - (lo_before >> 31);
  WordsToDoubles(lo_before & device_first & (Constraints::kDeviceFirst - 1), &before_ns);
  WordsToDoubles(hi_after & ~device_first, &after_ns);
  const Doubles offset = host_ns - p;
  *passed = *inside & (Longs)(host_ns < kMostNs) & (Longs)(host_ns > -kMostNs) &
            (Longs)(offset - before_ns <= hi + limits.most_late_ns) &
            (Longs)(offset + after_ns >= lo + limits.least_early_ns);
  if (!kByRoom) return;
  // bars.cc also adds by how much a tick may be longer than nominal. This never makes the value
  // smaller than the one here, whatever the rounding.
  const Doubles after = (offset + 1) - mid, before = mid - (offset - s.tick_ns);
  *passed &= (device_first & (Longs)(after >= limits.after_room_ns)) |
             (~device_first & (Longs)(before >= limits.before_room_ns));
}

LANES_INLINE unsigned BitsOf(const Longs& lanes) {
  return static_cast<unsigned>((lanes[0] & 1) | (lanes[1] & 2) | (lanes[2] & 4) | (lanes[3] & 8));
}

// Skips groups in which all orders pass. *passed and *inside describe the group at which it stops.
template <bool kByRoom>
LANES_INLINE size_t PassAll(const CurvePart& part, const Limits& given,
                            const Constraints::Run& orders, size_t from, unsigned* passed,
                            unsigned* inside) {
  const CurvePart s = part;
  const Limits limits = given;
  const Constraints::Run run = orders;
  for (; from + kLanes <= run.size; from += kLanes) {
    Longs pass, in;
    Pass<kByRoom>(s, limits, run, from, &pass, &in);
    const unsigned bits = BitsOf(pass);
    if (bits == 15) continue;
    *passed = bits, *inside = BitsOf(in);
    break;
  }
  return from;
}

#define PASS_FOR(NAME, TARGET)                                                         \
  TARGET size_t Pass##NAME(const CurvePart& s, const Limits& limits, bool by_room,     \
                           const Constraints::Run& run, size_t from, unsigned* passed, \
                           unsigned* inside) {                                         \
    return by_room ? PassAll<true>(s, limits, run, from, passed, inside)               \
                   : PassAll<false>(s, limits, run, from, passed, inside);             \
  }

PASS_FOR(Baseline, )
#if defined(__x86_64__)
PASS_FOR(Avx2, __attribute__((target("avx2"))))
#endif

using PassMany = size_t (*)(const CurvePart&, const Limits&, bool, const Constraints::Run&, size_t,
                            unsigned*, unsigned*);

PassMany Chosen() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return PassAvx2;
#endif
  return PassBaseline;
}

}  // namespace

bool IsPlain(const MapData& data) {
  return data.curves.size() == 1 && !data.line.wraps() && data.counts[0].eras.size() == 1 &&
         data.curves[0].front.smooth && data.curves[0].back.smooth;
}

OrderSieve::OrderSieve(const MapData& data, const TightestBars* bars) : data_(data), bars_(bars) {
  const Curve& curve = data.curves[0];
  usable_ = IsPlain(data) && data.counts[0].eras[0].shift == 0 &&
            std::abs(static_cast<double>(curve.base_host_ns)) <= kMostBaseNs &&
            curve.front.limit_ns < -kMostHostNs / 2 && curve.back.limit_ns > kMostHostNs / 2;
}

bool OrderSieve::CanPass(const Constraints::Run& run) const {
  const Era& era = data_.counts[0].eras[0];
  return usable_ && run.min_jumps <= era.jumps && era.jumps <= run.max_jumps;
}

bool OrderSieve::MoveTo(uint64_t ticks) {
  const Era& era = data_.counts[0].eras[0];
  const int64_t position = data_.line.SignedTicks(data_.curves[0].base_ticks, ticks);
  part_ = PartAt(data_, data_.PositionNs(position));
  const CurvePart& s = part_;
  if (!s.Has(ticks) || s.from < era.from || s.to > era.to) {
    part_ = {};
    return false;
  }
  const double whole = s.right_ns - s.left_ns;
  drift_ns_ = (std::abs(s.hi_rise) / whole + s.half_curvature * whole * 1e-18) * s.tick_ns;
  return true;
}

OrderSieve::Found OrderSieve::Next(const Constraints::Run& run, size_t from) {
  static const PassMany pass = Chosen();
  const bool can_pass = CanPass(run);
  while (from < run.size) {
    unsigned passed = 0, inside = 0;
    if (!can_pass || run.size - from < kLanes) {
      return {from, (1U << std::min(kLanes, run.size - from)) - 1};
    }
    const CurvePart& s = part_;
    Limits limits;
    limits.from = s.base_ticks + static_cast<uint64_t>(s.from);
    limits.span = static_cast<uint64_t>(s.to) - static_cast<uint64_t>(s.from);
    limits.most_late_ns = s.tick_ns - drift_ns_ - kSlackNs;
    limits.least_early_ns = kSlackNs;
    if (bars_ != nullptr) {
      const Range rooms = bars_->RoomsAt(s.left_ns);
      limits.before_room_ns = rooms.lo, limits.after_room_ns = rooms.hi;
    }
    if (s.to >= s.from) {
      from = pass(s, limits, bars_ != nullptr, run, from, &passed, &inside);
      if (run.size - from < kLanes) continue;
    }
    if (inside == 0 && MoveTo(run.ticks[from])) continue;
    return {from, ~passed & ((1U << kLanes) - 1)};
  }
  return {run.size, 0};
}

}  // namespace acceltrace::clock::internal
