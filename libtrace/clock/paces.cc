// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/paces.h"

#include <algorithm>
#include <cmath>

#include "libtrace/clock/map_data.h"
#include "libtrace/clock/whole.h"

namespace acceltrace::clock {

using internal::Curve;
using internal::Knot;
using internal::MapData;

// Returns false if there is no segment around that time.
bool Paces::Enter(const DeviceTime& from) {
  const MapData& data = *map_.data_;
  segment_.epoch = kNoEpoch;
  if (from.epoch >= data.curves.size()) return false;
  const Curve& curve = data.curves[from.epoch];
  const size_t i =
      curve.KnotAfter(data.PositionNs(static_cast<int64_t>(from.ticks - curve.base_ticks)));
  if (i == 0 || i == curve.knots.size()) return false;
  const Knot &left = curve.knots[i - 1], &right = curve.knots[i];
  tick_ns_ = data.line.ns_per_tick();
  const double swing = 0.5 * (curve.curvature * std::max(left.bend, right.bend) *
                              (right.position_ns - left.position_ns) * 1e-9);
  Segment& s = segment_;
  s.epoch = from.epoch;
  s.base_ticks = curve.base_ticks;
  s.left_ns = left.position_ns, s.right_ns = right.position_ns;
  s.drift_lo = std::min(left.slope_lo, right.slope_lo) - swing;
  s.drift_hi = std::max(left.slope_hi, right.slope_hi) + swing;
  s.rate_lo = std::max(1 / data.rates.hi, 1 + s.drift_lo * 1e-9);
  s.rate_hi = std::min(1 / data.rates.lo, 1 + s.drift_hi * 1e-9);
  const auto ticks = static_cast<double>(ticks_);
  s.length_lo_ns = internal::ToNs(std::floor(ticks * tick_ns_ * s.rate_lo));
  s.length_hi_ns = internal::ToNs(std::ceil(ticks * tick_ns_ * s.rate_hi));
  // If the bounds contradict each other, the general method has to be used.
  if (s.rate_lo <= s.rate_hi && s.length_lo_ns <= s.length_hi_ns) return true;
  s.epoch = kNoEpoch;
  return false;
}

bool Paces::Find(const DeviceTime& from, const DeviceTime& to, Interval* length) {
  // Sums of host times further apart would be rounded.
  constexpr int64_t kMostNs = int64_t{1} << 52;
  if (from.epoch != to.epoch || from.epoch == kNoEpoch) return false;
  const Segment& s = segment_;
  double from_ns = 0, to_ns = 0;
  // Both times must be away from the knots by more than announced changes of the rate have an
  // effect.
  const auto place = [&] {
    from_ns = static_cast<double>(static_cast<int64_t>(from.ticks - s.base_ticks)) * tick_ns_;
    to_ns = static_cast<double>(static_cast<int64_t>(to.ticks - s.base_ticks)) * tick_ns_;
    return from_ns - tick_ns_ > s.left_ns && to_ns + tick_ns_ + tick_ns_ < s.right_ns;
  };
  if ((from.epoch != s.epoch || !place()) && !(Enter(from) && place())) return false;
  const auto ticked = static_cast<int64_t>(to.ticks - from.ticks);
  if (ticked < 0 || !(to_ns + tick_ns_ > from_ns)) return false;
  // The result is only valid here if all bounds include the middle of the time between the two, as
  // they usually do.
  const int64_t mid_ns = to.host.mid_ns - from.host.mid_ns;
  const double inner_ns = to_ns - from_ns - tick_ns_, outer_ns = to_ns - from_ns + tick_ns_;
  double least_ns = 0;
  if (inner_ns > 0) least_ns = inner_ns + s.drift_lo * (to_ns - (from_ns + tick_ns_)) * 1e-9;
  const double most_ns = outer_ns + s.drift_hi * (to_ns + tick_ns_ - from_ns) * 1e-9;
  const auto mid = static_cast<double>(mid_ns);
  if (mid_ns < 0 || mid_ns > kMostNs || to.host.lo_ns - from.host.hi_ns > mid_ns ||
      to.host.hi_ns - from.host.lo_ns < mid_ns || !(least_ns < mid + 1) || !(most_ns > mid - 1)) {
    return false;
  }
  double rate = 0.5 * (s.rate_lo + s.rate_hi);
  if (ticked > 0) {
    rate = std::clamp(mid / (static_cast<double>(ticked) * tick_ns_), s.rate_lo, s.rate_hi);
  }
  length->lo_ns = s.length_lo_ns, length->hi_ns = s.length_hi_ns;
  length->mid_ns = std::clamp(internal::ToNs(Round(static_cast<double>(ticks_) * tick_ns_ * rate)),
                              s.length_lo_ns, s.length_hi_ns);
  return true;
}

}  // namespace acceltrace::clock
