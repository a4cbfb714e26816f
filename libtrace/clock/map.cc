// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {

namespace internal {

namespace {

int64_t HostOf(const Curve& curve, const Knot& knot) {
  return curve.base_host_ns + ToNs(knot.position_ns + knot.mid);
}

size_t KnotAfter(const Curve& curve, double position_ns, size_t guess) {
  const auto& knots = curve.knots;
  const auto is_after = [&](size_t i) {
    return (i == 0 || knots[i - 1].position_ns <= position_ns) &&
           (i == knots.size() || position_ns < knots[i].position_ns);
  };
  if (guess <= knots.size() && is_after(guess)) return guess;
  if (guess < knots.size() && is_after(guess + 1)) return guess + 1;
  return static_cast<size_t>(
      std::upper_bound(knots.begin(), knots.end(), position_ns,
                       [](double p, const Knot& knot) { return p < knot.position_ns; }) -
      knots.begin());
}

// Where the states of a knot lead to over a distance.
Bounds Lead(const Region& states, const State& mid, double distance_ns, double curvature) {
  const double seconds = distance_ns * 1e-9;
  const double bend = 0.5 * curvature * seconds * seconds;
  const Range range = states.OffsetAt(seconds);
  return {range.lo - bend, mid.offset + mid.slope * seconds, range.hi + bend};
}

Bounds Beyond(const Curve& curve, const End& end, const Knot& knot, double position_ns,
              bool is_front) {
  Bounds bounds = Lead(end.states, end.mid, position_ns - knot.position_ns, curve.curvature);
  // Offsets of the host times that bound it: the end itself on one side, the
  // neighbouring curve on the other.
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
  bounds.lo = std::min(bounds.lo, bounds.hi);
  return bounds;
}

// A curve whose slope changes by at most `curvature` stays within
// curvature * a * b / 2 of the chord, at distances a and b from its ends.
Bounds Between(const Knot& left, const Knot& right, double position_ns, double curvature) {
  const double a = position_ns - left.position_ns;
  const double b = right.position_ns - position_ns;
  const double whole = a + b;
  const double bend = 0.5 * curvature * (a * 1e-9) * (b * 1e-9);
  const double weight = a / whole;
  const auto chord = [weight](double l, double r) { return l + weight * (r - l); };
  // The estimate has a slope at both ends: a cubic.
  const double seconds = whole * 1e-9;
  const double rise = right.mid - left.mid;
  const double u = weight * (1 - weight);
  const double mid =
      chord(left.mid, right.mid) + u * ((1 - weight) * (left.slope_mid * seconds - rise) -
                                        weight * (right.slope_mid * seconds - rise));
  return {chord(left.lo, right.lo) - bend, mid, chord(left.hi, right.hi) + bend};
}

Bounds WithinKink(const Curve& curve, const Kink& kink, double position_ns) {
  const Bounds l = Lead(kink.left, kink.mid_left, position_ns - curve.knots[kink.after].position_ns,
                        curve.curvature);
  const Bounds r = Lead(kink.right, kink.mid_right,
                        position_ns - curve.knots[kink.after + 1].position_ns, curve.curvature);
  if (kink.slower) return {std::max(l.lo, r.lo), std::max(l.mid, r.mid), std::max(l.hi, r.hi)};
  return {std::min(l.lo, r.lo), std::min(l.mid, r.mid), std::min(l.hi, r.hi)};
}

}  // namespace

int64_t Curve::first_host_ns() const { return HostOf(*this, knots.front()); }
int64_t Curve::last_host_ns() const { return HostOf(*this, knots.back()); }

Bounds OffsetAt(const Curve& curve, double position_ns, size_t* cursor) {
  const auto& knots = curve.knots;
  const size_t i = *cursor = KnotAfter(curve, position_ns, *cursor);
  Bounds bounds;
  if (i == 0) {
    bounds = Beyond(curve, curve.front, knots.front(), position_ns, true);
  } else if (i == knots.size()) {
    bounds = Beyond(curve, curve.back, knots.back(), position_ns, false);
  } else {
    const auto kink =
        std::lower_bound(curve.kinks.begin(), curve.kinks.end(), i - 1,
                         [](const Kink& candidate, size_t knot) { return candidate.after < knot; });
    bounds = kink != curve.kinks.end() && kink->after == i - 1
                 ? WithinKink(curve, *kink, position_ns)
                 : Between(knots[i - 1], knots[i], position_ns, curve.curvature);
  }
  bounds.mid = std::clamp(bounds.mid, bounds.lo, bounds.hi);
  return bounds;
}

Place MapData::Locate(uint64_t ticks, int64_t near_ns) const {
  if (curves.size() == 1 && !line.wraps()) {
    return {0, line.Distance(curves[0].base_ticks, ticks)};
  }
  const bool has_hint = near_ns != Map::kNoHint;
  size_t at = curves.size() - 1;
  if (has_hint) {
    const auto after =
        std::upper_bound(curves.begin() + 1, curves.end(), near_ns,
                         [](int64_t ns, const Curve& curve) { return ns < curve.first_host_ns(); });
    at = static_cast<size_t>(after - curves.begin()) - 1;
  }
  // The ticks may belong to a neighbour: the hint is a time nearby, no more. Of the
  // places that are on a curve the one nearest to the hint, else the nearest to a curve.
  Place best;
  double best_outside = kInfinity, best_distance = kInfinity;
  const size_t from = has_hint && at > 0 ? at - 1 : at;
  const size_t to = std::min(at + 1, curves.size() - 1);
  for (size_t c = from; c <= to; ++c) {
    const Curve& curve = curves[c];
    const Knot& first = curve.knots.front();
    const Knot& last = curve.knots.back();
    double near = last.position_ns;
    if (has_hint) {
      // From host time to position, along the estimate.
      const auto knot = std::lower_bound(
          curve.knots.begin(), curve.knots.end(), near_ns,
          [&](const Knot& k, int64_t host_ns) { return HostOf(curve, k) < host_ns; });
      const Knot& k = knot == curve.knots.end() ? last : *knot;
      near = k.position_ns +
             static_cast<double>(near_ns - HostOf(curve, k)) / (1 + k.slope_mid * 1e-9);
    }
    const double position = line.Position(curve.base_ticks, ticks, near);
    const double outside =
        std::max({0.0, first.position_ns - position, position - last.position_ns});
    const double distance = std::abs(position - near);
    if (outside < best_outside || (outside == best_outside && distance < best_distance)) {
      best = {c, position};
      best_outside = outside, best_distance = distance;
    }
  }
  return best;
}

namespace {

Interval ToInterval(const Curve& curve, double position_ns, double tick_ns, const Bounds& bounds) {
  // The counter showed the ticks from then on until one more.
  const int64_t base_ns = curve.base_host_ns;
  return {base_ns + ToNs(std::floor(position_ns + bounds.lo)),
          base_ns + ToNs(std::round(position_ns + bounds.mid + 0.5 * tick_ns)),
          base_ns + ToNs(std::ceil(position_ns + bounds.hi + tick_ns))};
}

Interval Convert(const MapData& data, uint64_t ticks, int64_t near_ns, size_t* cursor) {
  const Place place = data.Locate(ticks, near_ns);
  const Curve& curve = data.curves[place.curve];
  return ToInterval(curve, place.position_ns, data.line.ns_per_tick(),
                    OffsetAt(curve, place.position_ns, cursor));
}

// The slopes between two positions of one smooth stretch; empty if it is none.
Range SlopesWithin(const Curve& curve, double from_ns, double to_ns) {
  Range none{kInfinity, -kInfinity};
  const size_t i = KnotAfter(curve, from_ns, 0);
  const size_t j = KnotAfter(curve, to_ns, i);
  if (i == 0 || j == curve.knots.size() || j - i > 64) return none;
  for (const Kink& kink : curve.kinks) {
    if (kink.after + 1 >= i && kink.after < j) return none;
  }
  Range slopes{kInfinity, -kInfinity};
  for (size_t k = i - 1; k <= j; ++k) {
    slopes.lo = std::min(slopes.lo, curve.knots[k].slope_lo);
    slopes.hi = std::max(slopes.hi, curve.knots[k].slope_hi);
    // Between two knots the slope can swing out and come back.
    if (k == j) break;
    const double swing = 0.5 * curve.curvature *
                         (curve.knots[k + 1].position_ns - curve.knots[k].position_ns) * 1e-9;
    slopes.lo = std::min(slopes.lo, curve.knots[k].slope_lo - swing);
    slopes.hi = std::max(slopes.hi, curve.knots[k].slope_hi + swing);
    slopes.lo = std::min(slopes.lo, curve.knots[k + 1].slope_lo - swing);
    slopes.hi = std::max(slopes.hi, curve.knots[k + 1].slope_hi + swing);
  }
  return slopes;
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
  using internal::Place;
  const Interval begin = ToHost(begin_ticks, near_ns);
  const Interval end = ToHost(end_ticks, near_ns);
  Interval duration{end.lo_ns - begin.hi_ns, end.mid_ns - begin.mid_ns, end.hi_ns - begin.lo_ns};
  const Place from = data_->Locate(begin_ticks, near_ns);
  const Place to = data_->Locate(end_ticks, near_ns);
  if (from.curve != to.curve || to.position_ns < from.position_ns) return duration;
  const internal::Range slopes =
      internal::SlopesWithin(data_->curves[from.curve], from.position_ns, to.position_ns);
  if (slopes.empty()) return duration;
  const double nominal = to.position_ns - from.position_ns;
  const double tick_ns = data_->line.ns_per_tick();
  const auto lo = static_cast<int64_t>(std::floor(nominal * (1 + slopes.lo * 1e-9) - tick_ns));
  const auto hi = static_cast<int64_t>(std::ceil(nominal * (1 + slopes.hi * 1e-9) + tick_ns));
  duration.lo_ns = std::max(duration.lo_ns, lo);
  duration.hi_ns = std::min(duration.hi_ns, hi);
  duration.mid_ns = std::clamp(duration.mid_ns, duration.lo_ns, duration.hi_ns);
  return duration;
}

DeviceTime Map::Locate(uint64_t raw_ticks, const Window& window) const {
  const int64_t near_ns = window.near_ns == Window::kMin ? kNoHint : window.near_ns;
  DeviceTime time;
  time.raw_ticks = data_->line.Mask(raw_ticks);
  const internal::Place place = data_->Locate(time.raw_ticks, near_ns);
  const internal::Curve& curve = data_->curves[place.curve];
  time.epoch = static_cast<uint32_t>(place.curve);
  time.ticks = curve.base_ticks +
               static_cast<uint64_t>(std::llround(place.position_ns / data_->line.ns_per_tick()));
  time.host = ToHost(time.raw_ticks, near_ns);
  return time;
}

Interval Map::Duration(const DeviceTime& begin, const DeviceTime& end) const {
  Interval duration{end.host.lo_ns - begin.host.hi_ns, end.host.mid_ns - begin.host.mid_ns,
                    end.host.hi_ns - begin.host.lo_ns};
  if (begin.epoch == end.epoch && begin.epoch != kNoEpoch) {
    const uint64_t ticks = end.ticks - begin.ticks;
    const Interval length = Length(ticks > 0 ? ticks - 1 : 0, ticks + 1, begin, end);
    duration.lo_ns = std::max(duration.lo_ns, length.lo_ns);
    duration.hi_ns = std::min(duration.hi_ns, length.hi_ns);
  }
  duration.hi_ns = std::max(duration.hi_ns, int64_t{0});
  duration.lo_ns = std::clamp(duration.lo_ns, int64_t{0}, duration.hi_ns);
  duration.mid_ns = std::clamp(duration.mid_ns, duration.lo_ns, duration.hi_ns);
  return duration;
}

Interval Map::Length(uint64_t lo_ticks, uint64_t hi_ticks, const DeviceTime& from,
                     const DeviceTime& to) const {
  // Any rate that the map knows of between the two.
  internal::Range slopes{internal::kInfinity, -internal::kInfinity};
  if (from.epoch == to.epoch && from.epoch < data_->curves.size()) {
    const internal::Curve& curve = data_->curves[from.epoch];
    const auto position = [&](const DeviceTime& time) {
      return static_cast<double>(static_cast<int64_t>(time.ticks - curve.base_ticks)) *
             data_->line.ns_per_tick();
    };
    slopes = internal::SlopesWithin(curve, position(from), position(to));
  }
  if (slopes.empty()) slopes = {-0.75e9, 3e9};
  const double tick_ns = data_->line.ns_per_tick();
  const double lo = static_cast<double>(lo_ticks) * tick_ns * (1 + slopes.lo * 1e-9);
  const double hi = static_cast<double>(hi_ticks) * tick_ns * (1 + slopes.hi * 1e-9);
  return {internal::ToNs(std::floor(lo)), internal::ToNs(std::round(0.5 * (lo + hi))),
          internal::ToNs(std::ceil(hi))};
}

const Quality& Map::quality() const { return data_->quality; }

}  // namespace acceltrace::clock
