// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {

namespace internal {

int64_t Curve::first_host_ns() const {
  return base_host_ns + static_cast<int64_t>(knots.front().position_ns + knots.front().mid_ns);
}

int64_t Curve::last_host_ns() const {
  return base_host_ns + static_cast<int64_t>(knots.back().position_ns + knots.back().mid_ns);
}

namespace {

struct Bounds {
  double lo, mid, hi;
};

Bounds Outside(const Knot& knot, double distance_ns, double slope_lo, double slope_hi,
               double curvature) {
  const double bend = 0.5 * curvature * distance_ns * distance_ns;
  const double a = slope_lo * distance_ns;
  const double b = slope_hi * distance_ns;
  return {knot.lo_ns + std::min(a, b) - bend, knot.mid_ns + 0.5 * (a + b),
          knot.hi_ns + std::max(a, b) + bend};
}

// A curve bent by at most `curvature` stays within curvature * a * b / 2 of the
// chord, at distances a and b from its ends.
Bounds Between(const Knot& left, const Knot& right, double position_ns, double curvature) {
  const double a = position_ns - left.position_ns;
  const double b = right.position_ns - position_ns;
  const double bend = 0.5 * curvature * a * b;
  const double weight = a + b > 0 ? a / (a + b) : 0;
  const auto chord = [weight](double l, double r) { return l + weight * (r - l); };
  return {chord(left.lo_ns, right.lo_ns) - bend, chord(left.mid_ns, right.mid_ns),
          chord(left.hi_ns, right.hi_ns) + bend};
}

// cursor: index of the knot after the last position asked for, a guess.
Interval Evaluate(const Curve& curve, double position_ns, double curvature, size_t* cursor) {
  const auto& knots = curve.knots;
  size_t i = *cursor;
  const bool guessed = i > 0 && i < knots.size() && knots[i - 1].position_ns <= position_ns &&
                       position_ns < knots[i].position_ns;
  if (!guessed) {
    i = std::upper_bound(
            knots.begin(), knots.end(), position_ns,
            [](double position, const Knot& knot) { return position < knot.position_ns; }) -
        knots.begin();
    *cursor = i;
  }
  Bounds bounds;
  if (i == 0) {
    bounds = Outside(knots.front(), position_ns - knots.front().position_ns, curve.first_slope_lo,
                     curve.first_slope_hi, curvature);
  } else if (i == knots.size()) {
    bounds = Outside(knots.back(), position_ns - knots.back().position_ns, curve.last_slope_lo,
                     curve.last_slope_hi, curvature);
  } else {
    bounds = Between(knots[i - 1], knots[i], position_ns, curvature);
  }
  const auto host = [&](double ns) {
    constexpr double kLimit = 4e18;  // within int64_t with room for the base
    return curve.base_host_ns + static_cast<int64_t>(std::clamp(ns, -kLimit, kLimit));
  };
  return {host(std::floor(position_ns + bounds.lo)), host(std::round(position_ns + bounds.mid)),
          host(std::ceil(position_ns + bounds.hi))};
}

// The curve that a host time belongs to: the last one that began before it.
size_t CurveAt(const std::vector<Curve>& curves, int64_t near_ns) {
  if (near_ns == Map::kNoHint) return curves.size() - 1;
  size_t i = curves.size() - 1;
  while (i > 0 && near_ns < curves[i].first_host_ns()) --i;
  return i;
}

Interval Convert(const MapData& data, uint64_t ticks, int64_t near_ns, size_t* cursor) {
  const size_t index = CurveAt(data.curves, near_ns);
  const Curve& curve = data.curves[index];
  const double near = near_ns == Map::kNoHint ? curve.knots.back().position_ns
                                              : static_cast<double>(near_ns - curve.base_host_ns) -
                                                    curve.knots.back().mid_ns;
  return Evaluate(curve, data.line.Position(curve.base_ticks, ticks, near), data.curvature, cursor);
}

}  // namespace
}  // namespace internal

Interval Map::ToHost(uint64_t ticks, int64_t near_ns) const {
  size_t cursor = 0;
  return internal::Convert(*data_, ticks, near_ns, &cursor);
}

void Map::ToHost(std::span<const uint64_t> ticks, std::span<const int64_t> near_ns,
                 std::span<Interval> out) const {
  assert(near_ns.empty() || near_ns.size() == ticks.size());
  assert(out.size() == ticks.size());
  size_t cursor = 0;
  for (size_t i = 0; i < ticks.size(); ++i) {
    out[i] = internal::Convert(*data_, ticks[i], near_ns.empty() ? kNoHint : near_ns[i], &cursor);
  }
}

Interval Map::Duration(uint64_t begin_ticks, uint64_t end_ticks, int64_t near_ns) const {
  const Interval begin = ToHost(begin_ticks, near_ns);
  const Interval end = ToHost(end_ticks, near_ns);
  return {end.lo_ns - begin.hi_ns, end.mid_ns - begin.mid_ns, end.hi_ns - begin.lo_ns};
}

const Quality& Map::quality() const { return data_->quality; }

}  // namespace acceltrace::clock
