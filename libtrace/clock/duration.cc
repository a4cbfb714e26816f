// SPDX-License-Identifier: Apache-2.0
//
// Computes durations on the device. For two times on the same curve, only the rate is uncertain.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {

namespace {

using internal::Curve;
using internal::kInfinity;
using internal::Knot;
using internal::MapData;
using internal::Range;

// The number of knots between two times up to which slopes are looked up. For longer durations, the
// difference of the times has bounds that are as good.
constexpr ptrdiff_t kMaxKnots = 64;

// Returns how far a duration may be off because announced changes happen anywhere within a tick.
double BlurWithin(const Curve& curve, double from_ns, double to_ns, double tick_ns) {
  const auto before = [&](size_t cut, double ns) { return curve.knots[cut].position_ns < ns; };
  auto cut = std::lower_bound(curve.cuts.begin(), curve.cuts.end(), from_ns - tick_ns, before);
  double blur_ns = 0;
  for (; cut != curve.cuts.end() && curve.knots[*cut].position_ns <= to_ns + tick_ns; ++cut) {
    const Knot& a = curve.knots[*cut];
    const Knot& b = curve.knots[*cut + 1];
    blur_ns +=
        tick_ns * 1e-9 * (std::max(a.slope_hi, b.slope_hi) - std::min(a.slope_lo, b.slope_lo));
  }
  return blur_ns;
}

// Returns the range of host ns minus nominal ns from one position on a curve to a later one, as far
// as the slopes determine it.
Range DriftWithin(const Curve& curve, double from_ns, double to_ns, double tick_ns) {
  const auto after = [&](double position_ns) {
    return curve.knots.begin() + static_cast<ptrdiff_t>(curve.KnotAfter(position_ns));
  };
  const auto first = after(from_ns), last = after(to_ns);
  if (last - first > kMaxKnots) return {-kInfinity, kInfinity};
  Range drift{0, 0};
  double at_ns = from_ns;
  for (auto next = first;; ++next) {
    const double end_ns = next == last ? to_ns : next->position_ns;
    Range slopes{kInfinity, -kInfinity};
    const auto take = [&](double lo, double hi) {
      slopes.lo = std::min(slopes.lo, lo), slopes.hi = std::max(slopes.hi, hi);
    };
    const bool has_left = next != curve.knots.begin(), has_right = next != curve.knots.end();
    const double left_ns = has_left ? std::prev(next)->position_ns : at_ns;
    const double right_ns = has_right ? next->position_ns : end_ns;
    // Away from a knot the slope may swing as far as bends allow; between two knots it must also
    // return, or have come from the other knot.
    const double bend = std::max(has_left ? std::prev(next)->bend : 1, has_right ? next->bend : 1);
    const double swing = curve.curvature * bend * (right_ns - left_ns) * 1e-9;
    if (has_left) take(std::prev(next)->slope_lo, std::prev(next)->slope_hi);
    if (has_right) take(next->slope_lo, next->slope_hi);
    const double part = has_left && has_right ? 0.5 * swing : swing;
    drift.lo += (slopes.lo - part) * (end_ns - at_ns) * 1e-9;
    drift.hi += (slopes.hi + part) * (end_ns - at_ns) * 1e-9;
    at_ns = end_ns;
    if (next != last) continue;
    const double blur_ns = BlurWithin(curve, from_ns, to_ns, tick_ns);
    return {drift.lo - blur_ns, drift.hi + blur_ns};
  }
}

// Returns the range of rates between two times, in host ns per nominal ns.
Range TickLengths(const MapData& data, const DeviceTime& from, const DeviceTime& to) {
  const Range any{1 / data.rates.hi, 1 / data.rates.lo};
  if (from.epoch != to.epoch || from.epoch == kNoEpoch) return any;
  const Curve& curve = data.curves[from.epoch];
  const auto position = [&](const DeviceTime& time) {
    return data.PositionNs(static_cast<int64_t>(time.ticks - curve.base_ticks));
  };
  const double begin = position(from), end = position(to) + data.line.ns_per_tick();
  if (!(end > begin)) return any;
  const auto after = [&](double position_ns) {
    return curve.knots.begin() + static_cast<ptrdiff_t>(curve.KnotAfter(position_ns));
  };
  const auto first = after(begin), last = after(end);
  Range slopes{kInfinity, -kInfinity};
  for (auto next = first;; ++next) {
    const bool has_left = next != curve.knots.begin(), has_right = next != curve.knots.end();
    const double left_ns = has_left ? std::prev(next)->position_ns : begin;
    const double right_ns = has_right ? next->position_ns : end;
    const double bend = std::max(has_left ? std::prev(next)->bend : 1, has_right ? next->bend : 1);
    const double swing =
        curve.curvature * bend * (right_ns - left_ns) * 1e-9 * (has_left && has_right ? 0.5 : 1);
    const auto take = [&](const Knot& knot) {
      slopes.lo = std::min(slopes.lo, knot.slope_lo - swing);
      slopes.hi = std::max(slopes.hi, knot.slope_hi + swing);
    };
    if (has_left) take(*std::prev(next));
    if (has_right) take(*next);
    if (next == last) break;
  }
  return {std::max(any.lo, 1 + slopes.lo * 1e-9), std::min(any.hi, 1 + slopes.hi * 1e-9)};
}

}  // namespace

Interval Map::Duration(const DeviceTime& begin, const DeviceTime& end) const {
  Interval duration{end.host.lo_ns - begin.host.hi_ns, end.host.mid_ns - begin.host.mid_ns,
                    end.host.hi_ns - begin.host.lo_ns};
  if (begin.epoch == end.epoch && begin.epoch != kNoEpoch) {
    const Curve& curve = data_->curves[begin.epoch];
    const auto from = static_cast<int64_t>(begin.ticks - curve.base_ticks);
    const auto to = static_cast<int64_t>(end.ticks - curve.base_ticks);
    if (to >= from) {
      // Each time is anywhere within its tick.
      const double tick_ns = data_->line.ns_per_tick();
      const double from_ns = data_->PositionNs(from), to_ns = data_->PositionNs(to);
      const double inner_ns = std::max(0.0, to_ns - from_ns - tick_ns);
      const double outer_ns = to_ns - from_ns + tick_ns;
      const Range inner =
          inner_ns > 0 ? DriftWithin(curve, from_ns + tick_ns, to_ns, tick_ns) : Range{0, 0};
      const Range outer = DriftWithin(curve, from_ns, to_ns + tick_ns, tick_ns);
      const int64_t lo = internal::ToNs(std::floor(inner_ns + inner.lo));
      const int64_t hi = internal::ToNs(std::ceil(outer_ns + outer.hi));
      if (std::max(duration.lo_ns, lo) <= std::min(duration.hi_ns, hi)) {
        duration.lo_ns = std::max(duration.lo_ns, lo);
        duration.hi_ns = std::min(duration.hi_ns, hi);
      }
    }
  }
  duration.hi_ns = std::max(duration.hi_ns, int64_t{0});
  duration.lo_ns = std::clamp(duration.lo_ns, int64_t{0}, duration.hi_ns);
  duration.mid_ns = std::clamp(duration.mid_ns, duration.lo_ns, duration.hi_ns);
  return duration;
}

Interval Map::Length(uint64_t lo_ticks, uint64_t hi_ticks, const DeviceTime& from,
                     const DeviceTime& to) const {
  const Range tick = TickLengths(*data_, from, to);
  const double tick_ns = data_->line.ns_per_tick();
  const double lo = static_cast<double>(lo_ticks) * tick_ns * tick.lo;
  const double hi = static_cast<double>(hi_ticks) * tick_ns * tick.hi;
  // The most likely rate is the mean rate between the two times.
  const Interval whole = Duration(from, to);
  const double ticked = static_cast<double>(static_cast<int64_t>(to.ticks - from.ticks));
  double rate = 0.5 * (tick.lo + tick.hi);
  if (from.epoch == to.epoch && from.epoch != kNoEpoch && ticked > 0) {
    rate = std::clamp(static_cast<double>(whole.mid_ns) / (ticked * tick_ns), tick.lo, tick.hi);
  }
  const double ticks = 0.5 * (static_cast<double>(lo_ticks) + static_cast<double>(hi_ticks));
  Interval length{internal::ToNs(std::floor(lo)),
                  internal::ToNs(std::round(ticks * tick_ns * rate)),
                  internal::ToNs(std::ceil(hi))};
  length.mid_ns = std::clamp(length.mid_ns, length.lo_ns, length.hi_ns);
  return length;
}

Interval Map::Duration(uint64_t begin_ticks, uint64_t end_ticks, int64_t near_ns) const {
  const auto locate = [&](uint64_t ticks) {
    const internal::Place place = data_->Locate(ticks, near_ns);
    DeviceTime time;
    time.raw_ticks = ticks;
    time.ticks = data_->curves[place.curve].base_ticks + static_cast<uint64_t>(place.position);
    time.host = data_->At(place);
    if (!data_->IsBetween(place)) time.epoch = static_cast<uint32_t>(place.curve);
    return time;
  };
  return Duration(locate(begin_ticks), locate(end_ticks));
}

}  // namespace acceltrace::clock
