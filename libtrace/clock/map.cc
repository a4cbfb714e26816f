// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {

namespace internal {

namespace {

int64_t HostOf(const Curve& curve, const Knot& knot) {
  return HostNs(curve.base_host_ns, knot.position_ns + knot.mid);
}

// Extrapolates the states of a knot over a distance.
Bounds Lead(const Region& states, const State& mid, double distance_ns, double curvature) {
  const double seconds = distance_ns * 1e-9;
  const double bend = 0.5 * curvature * seconds * seconds;
  const Range range = states.OffsetAt(seconds);
  return {range.lo - bend, mid.offset + mid.slope * seconds, range.hi + bend};
}

Bounds Beyond(const Curve& curve, const End& end, const Knot& knot, double position_ns,
              bool is_front) {
  Bounds bounds =
      Lead(end.states, end.mid, position_ns - knot.position_ns, curve.curvature * knot.bend);
  // The offsets of the host times that bound it: the end itself on one side and the neighbouring
  // curve on the other.
  const double limit = static_cast<double>(end.limit_ns - curve.base_host_ns) - position_ns;
  const double moved = knot.position_ns - position_ns;
  if (is_front) {
    if (!end.smooth) bounds.lo = limit, bounds.hi = knot.hi + moved;
    bounds.lo = std::max(bounds.lo, limit);
    bounds.hi = std::min(bounds.hi, knot.hi + moved);
  } else {
    if (!end.smooth) bounds.lo = knot.lo + moved, bounds.hi = limit;
    bounds.lo = std::max(bounds.lo, knot.lo + moved);
    bounds.hi = std::min(bounds.hi, limit);
  }
  if (end.is_step) {
    const double other =
        end.other.offset + end.other.slope * (position_ns - end.other_position_ns) * 1e-9;
    // If the clock became slower, the later curve is the higher one.
    const bool slower = (end.other.slope < end.mid.slope) == is_front;
    bounds.mid = slower ? std::max(bounds.mid, other) : std::min(bounds.mid, other);
  }
  bounds.lo = std::min(bounds.lo, bounds.hi);
  return bounds;
}

// A curve whose slope changes by at most `curvature` stays within curvature * a * b / 2 of the
// chord, where a and b are the distances from its ends.
Bounds Between(const Knot& left, const Knot& right, double position_ns, double curvature) {
  const double a = position_ns - left.position_ns;
  const double b = right.position_ns - position_ns;
  const double whole = a + b;
  const double bend = 0.5 * curvature * (a * 1e-9) * (b * 1e-9);
  const double weight = a / whole;
  const auto chord = [weight](double l, double r) { return l + weight * (r - l); };
  // The estimate has a slope at both ends, so it is a cubic.
  const double seconds = whole * 1e-9;
  const double rise = right.mid - left.mid;
  const double u = weight * (1 - weight);
  const double mid =
      chord(left.mid, right.mid) + u * ((1 - weight) * (left.slope_mid * seconds - rise) -
                                        weight * (right.slope_mid * seconds - rise));
  return {chord(left.lo, right.lo) - bend, mid, chord(left.hi, right.hi) + bend};
}

// Returns the bounds of Between() without its middle, computed in the same order of operations.
Bounds EndsBetween(const Knot& left, const Knot& right, double position_ns, double curvature) {
  const double a = position_ns - left.position_ns;
  const double b = right.position_ns - position_ns;
  const double bend = 0.5 * curvature * (a * 1e-9) * (b * 1e-9);
  const double weight = a / (a + b);
  const auto chord = [weight](double l, double r) { return l + weight * (r - l); };
  return {chord(left.lo, right.lo) - bend, 0, chord(left.hi, right.hi) + bend};
}

}  // namespace

int64_t Curve::first_host_ns() const { return HostOf(*this, knots.front()); }
int64_t Curve::last_host_ns() const { return HostOf(*this, knots.back()); }

Bounds OffsetAt(const Curve& curve, double position_ns) {
  const auto& knots = curve.knots;
  const size_t i = curve.KnotAfter(position_ns);
  Bounds bounds;
  if (i == 0) {
    bounds = Beyond(curve, curve.front, knots.front(), position_ns, true);
  } else if (i == knots.size()) {
    bounds = Beyond(curve, curve.back, knots.back(), position_ns, false);
  } else {
    bounds = Between(knots[i - 1], knots[i], position_ns,
                     curve.CurvatureBetween(knots[i - 1], knots[i]));
  }
  bounds.mid = std::clamp(bounds.mid, bounds.lo, bounds.hi);
  return bounds;
}

Bounds EndsAt(const Curve& curve, double position_ns) {
  const auto& knots = curve.knots;
  const size_t i = curve.KnotAfter(position_ns);
  if (i == 0 || i == knots.size()) return OffsetAt(curve, position_ns);
  return EndsBetween(knots[i - 1], knots[i], position_ns,
                     curve.CurvatureBetween(knots[i - 1], knots[i]));
}

Interval MapData::At(const Place& place) const {
  // The counter showed these ticks from this instant on for one tick.
  const Curve& curve = curves[place.curve];
  const double position_ns = PositionNs(place.position);
  const Bounds begin = OffsetAt(curve, position_ns);
  return At(place, begin, OffsetAt(curve, position_ns + line.ns_per_tick()));
}

Interval MapData::At(const Place& place, const Bounds& begin, const Bounds& end) const {
  const Curve& curve = curves[place.curve];
  const double position_ns = PositionNs(place.position);
  const double tick_ns = line.ns_per_tick();
  const int64_t base_ns = curve.base_host_ns;
  Interval at{
      HostNs(base_ns, std::floor(position_ns + begin.lo)), 0,
      HostNs(base_ns, std::ceil(position_ns + tick_ns + std::max(end.hi, begin.hi - tick_ns)))};
  at.mid_ns = HostNs(base_ns, std::round(position_ns + begin.mid + 0.5 * tick_ns));
  at.mid_ns = std::clamp(at.mid_ns, at.lo_ns, at.hi_ns);
  return at;
}

}  // namespace internal

Interval Map::ToHost(uint64_t ticks, int64_t near_ns) const {
  return data_->At(data_->Locate(ticks, near_ns));
}

void Map::ToHost(std::span<const uint64_t> ticks, std::span<const int64_t> near_ns,
                 std::span<Interval> out) const {
  assert(near_ns.empty() || near_ns.size() == ticks.size());
  assert(out.size() == ticks.size());
  for (size_t i = 0; i < ticks.size(); ++i) {
    out[i] = data_->At(data_->Locate(ticks[i], near_ns.empty() ? kNoHint : near_ns[i]));
  }
}

const Quality& Map::quality() const { return data_->quality; }

}  // namespace acceltrace::clock
