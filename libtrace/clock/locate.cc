// SPDX-License-Identifier: Apache-2.0
//
// Finds the wrap, the era and the count that a reading belongs to.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "libtrace/clock/map_data.h"

namespace acceltrace::clock {

namespace internal {

namespace {

int64_t HostOf(const Curve& curve, const Knot& knot) {
  return HostNs(curve.base_host_ns, knot.position_ns + knot.mid);
}

bool Meets(const Interval& at, const Window& window) {
  return at.hi_ns >= window.lo_ns && at.lo_ns <= window.hi_ns;
}

// Limits positions in ticks so that they fit into int64_t.
int64_t ToTicks(double ticks) { return static_cast<int64_t>(std::clamp(ticks, -2e18, 2e18)); }

// At most this many of the possible wraps are returned, including the first and the last one.
constexpr int64_t kWrapsTaken = 4;
// A time without a bound is at most this many wraps from the samples.
constexpr double kWrapsBeyond = 2;
// The number of curves that are examined for one reading.
constexpr size_t kCurvesTried = 256;

}  // namespace

double PositionNear(const Curve& curve, int64_t host_ns) {
  const auto before = [&](const Knot& k, int64_t ns) { return HostOf(curve, k) < ns; };
  const auto next = std::lower_bound(curve.knots.begin(), curve.knots.end(), host_ns, before);
  const Knot& k = next == curve.knots.end() ? curve.knots.back() : *next;
  const auto away = static_cast<double>(host_ns - HostOf(curve, k));
  if (next != curve.knots.end() && next != curve.knots.begin()) {
    const Knot& a = *(next - 1);
    const auto whole = static_cast<double>(HostOf(curve, k) - HostOf(curve, a));
    if (whole > 0) return k.position_ns + away / whole * (k.position_ns - a.position_ns);
  }
  return k.position_ns + away / (1 + k.slope_mid * 1e-9);
}

bool MapData::IsBetween(const Place& place) const {
  const Curve& curve = curves[place.curve];
  const double position_ns = PositionNs(place.position);
  return (!curve.front.smooth && position_ns < curve.knots.front().position_ns) ||
         (!curve.back.smooth && position_ns > curve.knots.back().position_ns);
}

size_t MapData::CurveNear(int64_t host_ns) const {
  const auto after =
      std::upper_bound(curves.begin() + 1, curves.end(), host_ns,
                       [](int64_t ns, const Curve& curve) { return ns < curve.first_host_ns(); });
  return static_cast<size_t>(after - curves.begin()) - 1;
}

Place MapData::Locate(uint64_t ticks, int64_t near_ns) const {
  if (curves.size() == 1 && !line.wraps() && counts[0].eras.size() == 1) {
    return {0, line.SignedTicks(curves[0].base_ticks, ticks)};
  }
  const bool has_hint = near_ns != Map::kNoHint;
  size_t at = curves.size() - 1;
  if (has_hint) at = CurveNear(near_ns);
  // The hint is only close to the event, so that the ticks may belong to a neighbouring curve.
  // Prefer the place on a curve that is nearest to the hint; otherwise use places beside a curve.
  Place best;
  double best_outside = kInfinity, best_distance = kInfinity;
  const size_t from = has_hint && at > 0 ? at - 1 : at;
  const size_t to = std::min(at + 1, curves.size() - 1);
  for (size_t c = from; c <= to; ++c) {
    const Curve& curve = curves[c];
    const double near_position =
        has_hint ? PositionNear(curve, near_ns) : curve.knots.back().position_ns;
    const double near = near_position / line.ns_per_tick();
    const auto& eras = counts[curve.count].eras;
    for (auto era = eras.rbegin(); era != eras.rend(); ++era) {
      const int64_t position =
          line.Nearest(line.SignedTicks(curve.base_ticks, line.Mask(ticks + era->shift)), near);
      const double first = std::max(curve.knots.front().position_ns, PositionNs(era->from));
      const double last = std::min(curve.knots.back().position_ns, PositionNs(era->to));
      const double ns = PositionNs(position);
      double outside = std::max({0.0, first - ns, ns - last});
      double distance = std::abs(ns - near_position);
      if (outside > 0 && has_hint) {
        // Far from a curve its rate is no guide, so the resulting times are compared.
        const Interval when = At({c, position});
        distance =
            static_cast<double>(std::max({int64_t{0}, when.lo_ns - near_ns, near_ns - when.hi_ns}));
        outside = 1;
      }
      if (outside < best_outside || (outside == best_outside && distance < best_distance)) {
        best = {c, position};
        best_outside = outside, best_distance = distance;
      }
    }
  }
  return best;
}

// Returns the lowest position that the clock can have had at a host time: that of the last knot
// that it had certainly passed or, before the first knot, as far back as it can have been.
double MapData::Earliest(const Curve& curve, int64_t ns) const {
  const double beyond = kWrapsBeyond * line.wrap_ns();
  if (ns == Window::kMin) return curve.knots.front().position_ns - beyond;
  const auto host = static_cast<double>(ns - curve.base_host_ns);
  const auto passed =
      std::partition_point(curve.knots.begin(), curve.knots.end(),
                           [&](const Knot& k) { return k.position_ns + k.hi < host - 1; });
  if (passed != curve.knots.begin()) return std::prev(passed)->position_ns;
  const Knot& first = curve.knots.front();
  return first.position_ns - rates.hi * std::min(first.position_ns + first.hi - host + 1, kFarNs);
}

// Returns the highest position accordingly.
double MapData::Latest(const Curve& curve, int64_t ns) const {
  const double beyond = kWrapsBeyond * line.wrap_ns();
  if (ns == Window::kMax) return curve.knots.back().position_ns + beyond;
  const auto host = static_cast<double>(ns - curve.base_host_ns);
  const auto ahead =
      std::partition_point(curve.knots.begin(), curve.knots.end(),
                           [&](const Knot& k) { return k.position_ns + k.lo <= host + 1; });
  if (ahead != curve.knots.end()) return ahead->position_ns;
  const Knot& last = curve.knots.back();
  return last.position_ns + rates.hi * std::min(host + 1 - last.position_ns - last.lo, kFarNs);
}

void MapData::AddPlaces(size_t c, uint64_t ticks, const Window& window,
                        std::vector<Place>* places) const {
  const Curve& curve = curves[c];
  const double tick_ns = line.ns_per_tick();
  const double first_ns = curve.knots.front().position_ns;
  const double last_ns = curve.knots.back().position_ns;
  // Returns how far the clock can have advanced while the curve was valid.
  const auto reach = [&](int64_t from_ns, int64_t to_ns) {
    return rates.hi * std::min(static_cast<double>(to_ns - from_ns), kFarNs) + 2 * tick_ns;
  };
  double lo_ns = -kInfinity, hi_ns = kInfinity;
  if (!curve.front.smooth) lo_ns = first_ns - reach(curve.front.limit_ns, curve.first_host_ns());
  if (!curve.back.smooth) hi_ns = last_ns + reach(curve.last_host_ns(), curve.back.limit_ns);
  const auto try_place = [&](int64_t position) {
    const Place place{c, position};
    if (Meets(At(place), window)) places->push_back(place);
  };
  for (const Era& era : counts[curve.count].eras) {
    if (era.jumps < window.min_jumps || era.jumps > window.max_jumps) continue;
    // Beyond a break, it is not known where on the curve's line a jump was.
    const bool open_front = !curve.front.smooth && PositionNs(era.from) < first_ns;
    const bool open_back = !curve.back.smooth && PositionNs(era.to) > last_ns;
    const double era_from = open_front ? -kInfinity : static_cast<double>(era.from);
    const double era_to = open_back ? kInfinity : static_cast<double>(era.to);
    const double from = std::max(era_from, std::floor(lo_ns / tick_ns));
    const double to = std::min(era_to, std::ceil(hi_ns / tick_ns));
    const int64_t distance = line.SignedTicks(curve.base_ticks, line.Mask(ticks + era.shift));
    if (!line.wraps()) {
      const auto at = static_cast<double>(distance);
      if (from <= at && at <= to) try_place(distance);
      continue;
    }
    // Try all wraps that the window allows.
    const double least = std::max(from, Earliest(curve, window.lo_ns) / tick_ns - 2);
    const double most = std::min(to, Latest(curve, window.hi_ns) / tick_ns + 2);
    if (least > most) continue;
    const int64_t wrap = ToTicks(line.wrap_ns() / tick_ns);
    const int64_t first = line.AtLeast(distance, least);
    const int64_t last = -line.AtLeast(-distance, -most);
    if (static_cast<double>(first) > most) continue;
    // If there are many, the first and the last one determine the bounds, and one in between the
    // middle. Both bounds of a time increase with its position, which permits a binary search.
    const int64_t wraps = (last - first) / wrap;
    const auto search = [&](int64_t low, int64_t high, auto&& is_beyond) {
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (is_beyond(At({c, first + middle * wrap}))) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      return low;
    };
    const int64_t begin =
        search(0, wraps + 1, [&](const Interval& at) { return at.hi_ns >= window.lo_ns; });
    const int64_t end =
        search(begin, wraps + 1, [&](const Interval& at) { return at.lo_ns > window.hi_ns; });
    const int64_t step = std::max<int64_t>(1, (end - 1 - begin) / (kWrapsTaken - 1));
    for (int64_t w = begin; w < end - 1; w += step) try_place(first + w * wrap);
    if (begin < end) try_place(first + (end - 1) * wrap);
  }
}

std::vector<Place> MapData::Places(uint64_t ticks, const Window& window, Interval* skipped) const {
  std::vector<Place> places;
  // Find the curves whose time, including the gaps next to it, overlaps with the window.
  const auto begins_after = [](int64_t ns, const Curve& curve) {
    return ns < curve.front.limit_ns;
  };
  const auto ends_before = [](const Curve& curve, int64_t ns) { return curve.back.limit_ns < ns; };
  auto from = std::lower_bound(curves.begin(), curves.end(), window.lo_ns, ends_before);
  auto to = std::upper_bound(curves.begin(), curves.end(), window.hi_ns, begins_after);
  if (from >= to) return places;
  if (static_cast<size_t>(to - from) > kCurvesTried) {
    if (skipped != nullptr) {
      *skipped = {from->first_host_ns(), from->first_host_ns(), std::prev(to)->last_host_ns()};
    }
    const auto middle = std::upper_bound(from, to, window.near_ns, begins_after) - curves.begin();
    const auto half = static_cast<ptrdiff_t>(kCurvesTried / 2);
    from = std::max(from, curves.begin() + std::max<ptrdiff_t>(0, middle - half));
    to = std::min(to, from + static_cast<ptrdiff_t>(kCurvesTried));
  }
  for (auto curve = from; curve < to; ++curve) {
    AddPlaces(static_cast<size_t>(curve - curves.begin()), ticks, window, &places);
  }
  return places;
}

bool MapData::GapWithin(const Window& window, Interval* gap) const {
  bool any = false;
  const auto add = [&](int64_t lo_ns, int64_t hi_ns) {
    if (hi_ns < window.lo_ns || lo_ns > window.hi_ns) return;
    gap->lo_ns = any ? std::min(gap->lo_ns, lo_ns) : lo_ns;
    gap->hi_ns = any ? std::max(gap->hi_ns, hi_ns) : hi_ns;
    any = true;
  };
  // Where the clock broke before or after all samples, what it showed there is on no curve.
  const Curve& head = curves.front();
  const Curve& tail = curves.back();
  if (!head.front.smooth) {
    const Knot& knot = head.knots.front();
    add(head.front.limit_ns, HostNs(head.base_host_ns, std::ceil(knot.position_ns + knot.hi)));
  }
  if (!tail.back.smooth) {
    const Knot& knot = tail.knots.back();
    add(HostNs(tail.base_host_ns, std::floor(knot.position_ns + knot.lo)), tail.back.limit_ns);
  }
  const auto ends_before = [](const Curve& curve, int64_t ns) { return curve.back.limit_ns < ns; };
  const auto first = std::lower_bound(curves.begin(), curves.end(), window.lo_ns, ends_before);
  for (auto c = static_cast<size_t>(first - curves.begin()); c + 1 < curves.size(); ++c) {
    const int64_t lo_ns = curves[c + 1].front.limit_ns;
    const int64_t hi_ns = curves[c].back.limit_ns;
    if (lo_ns > window.hi_ns) break;
    if (curves[c].back.smooth) continue;
    add(lo_ns, hi_ns);
  }
  if (any) gap->mid_ns = gap->lo_ns + (gap->hi_ns - gap->lo_ns) / 2;
  return any;
}

}  // namespace internal

namespace {

using internal::Curve;
using internal::MapData;
using internal::Place;

// Extends an interval from the ticks by the window, for times where they disagree.
void Cover(const Window& window, Interval* at) {
  // A window that is open on one side is extended by the length of a long recording at most.
  const auto far_ns = static_cast<int64_t>(internal::kFarNs);
  const bool has_lo = window.lo_ns != Window::kMin, has_hi = window.hi_ns != Window::kMax;
  if (has_lo) at->lo_ns = std::min(at->lo_ns, window.lo_ns);
  if (has_hi) at->hi_ns = std::max(at->hi_ns, window.hi_ns);
  if (has_lo && !has_hi) at->hi_ns = std::max(at->hi_ns, window.lo_ns + far_ns);
  if (has_hi && !has_lo) at->lo_ns = std::min(at->lo_ns, window.hi_ns - far_ns);
}

// Narrows a time that the ticks leave open to its window.
void ClipTo(const Window& window, Interval* at) {
  if (at->hi_ns < window.lo_ns || at->lo_ns > window.hi_ns) return;
  at->lo_ns = std::max(at->lo_ns, window.lo_ns);
  at->hi_ns = std::min(at->hi_ns, window.hi_ns);
  at->mid_ns = std::clamp(at->mid_ns, at->lo_ns, at->hi_ns);
}

}  // namespace

bool Map::NeedsNoWindow() const {
  const MapData& data = *data_;
  // The window may have information on an announced jump that could not be placed.
  return data.curves.size() == 1 && !data.line.wraps() && data.counts[0].eras.size() == 1 &&
         data.quality.jumps == 0;
}

bool Map::AreTicksPlain() const {
  const Curve& curve = data_->curves[0];
  return curve.front.smooth && curve.back.smooth;
}

bool Map::AreTicksPlain(std::span<const uint64_t> raw_ticks) const {
  if (AreTicksPlain()) return true;
  const MapData& data = *data_;
  const Curve& curve = data.curves[0];
  return std::none_of(raw_ticks.begin(), raw_ticks.end(), [&](uint64_t ticks) {
    return data.IsBetween({0, data.line.SignedTicks(curve.base_ticks, ticks)});
  });
}

DeviceTime Map::Locate(uint64_t raw_ticks, const Window& when) const {
  const MapData& data = *data_;
  // If the bounds contradict each other, one of them is wrong; use the interval between them.
  Window window = when;
  if (window.lo_ns > window.hi_ns) std::swap(window.lo_ns, window.hi_ns);
  DeviceTime time;
  time.raw_ticks = data.line.Mask(raw_ticks);
  const auto ticks_at = [&](const Place& place) {
    return data.curves[place.curve].base_ticks + static_cast<uint64_t>(place.position);
  };
  const auto set = [&](const Place& place) {
    time.ticks = ticks_at(place);
    time.host = data.At(place);
    if (!data.IsBetween(place)) time.epoch = static_cast<uint32_t>(place.curve);
  };
  if (NeedsNoWindow()) {
    set(data.Locate(time.raw_ticks, kNoHint));
    return time;
  }
  Interval skipped;
  const std::vector<Place> places = data.Places(time.raw_ticks, window, &skipped);
  Interval gap;
  const bool in_gap = data.GapWithin(window, &gap);
  if (places.size() == 1 && !in_gap && skipped.width_ns() == 0) {
    set(places[0]);
    if (time.epoch == kNoEpoch) ClipTo(window, &time.host);
    return time;
  }
  int64_t near_ns = window.near_ns;
  if (window.lo_ns != Window::kMin && window.hi_ns != Window::kMax) {
    near_ns = window.lo_ns + (window.hi_ns - window.lo_ns) / 2;
  }
  if (places.empty()) {
    if (data.GapWithin(window, &time.host)) {
      time.ticks = time.raw_ticks;
      if (skipped.width_ns() > 0) {
        time.host.lo_ns = std::min(time.host.lo_ns, skipped.lo_ns);
        time.host.hi_ns = std::max(time.host.hi_ns, skipped.hi_ns);
      }
      ClipTo(window, &time.host);
    } else {
      // The ticks contradict the window, and either may be wrong: the interval covers both.
      set(data.Locate(time.raw_ticks, near_ns));
      time.epoch = kNoEpoch;
      Cover(window, &time.host);
    }
    return time;
  }
  Interval hull;
  double best = internal::kInfinity;
  for (const Place& place : places) {
    const Interval at = data.At(place);
    const bool first = &place == &places.front();
    hull.lo_ns = first ? at.lo_ns : std::min(hull.lo_ns, at.lo_ns);
    hull.hi_ns = first ? at.hi_ns : std::max(hull.hi_ns, at.hi_ns);
    const double away =
        near_ns == Window::kMin ? 0 : std::abs(static_cast<double>(at.mid_ns - near_ns));
    if (away > best) continue;
    best = away;
    hull.mid_ns = at.mid_ns;
    time.ticks = ticks_at(place);
  }
  if (in_gap) {
    hull.lo_ns = std::min(hull.lo_ns, gap.lo_ns);
    hull.hi_ns = std::max(hull.hi_ns, gap.hi_ns);
  }
  if (skipped.width_ns() > 0) {
    hull.lo_ns = std::min(hull.lo_ns, skipped.lo_ns);
    hull.hi_ns = std::max(hull.hi_ns, skipped.hi_ns);
  }
  time.host = hull;
  ClipTo(window, &time.host);
  return time;
}

DeviceTime Map::Before(const DeviceTime& time, uint64_t ticks) const {
  DeviceTime earlier = time;
  earlier.raw_ticks = data_->line.Mask(time.raw_ticks - ticks);
  earlier.ticks = time.ticks - ticks;
  if (ticks == 0) return earlier;
  if (time.epoch != kNoEpoch) {
    const Curve& curve = data_->curves[time.epoch];
    const Place place{time.epoch, static_cast<int64_t>(earlier.ticks - curve.base_ticks)};
    earlier.host = data_->At(place);
    if (!data_->IsBetween(place)) return earlier;
    earlier.epoch = kNoEpoch;
    earlier.host.hi_ns = std::min(earlier.host.hi_ns, time.host.hi_ns);
    earlier.host.lo_ns = std::min(earlier.host.lo_ns, earlier.host.hi_ns);
    earlier.host.mid_ns = std::clamp(earlier.host.mid_ns, earlier.host.lo_ns, earlier.host.hi_ns);
    return earlier;
  }
  // Go back as far as this number of ticks can take.
  const double ns = static_cast<double>(ticks) * data_->line.ns_per_tick();
  const internal::Rates& rates = data_->rates;
  const double tick_ns = data_->line.ns_per_tick();
  Interval& host = earlier.host;
  host.lo_ns = internal::HostNs(host.lo_ns, -std::ceil((ns + tick_ns) / rates.lo));
  host.mid_ns = internal::HostNs(host.mid_ns, -ns);
  host.hi_ns = internal::HostNs(host.hi_ns, -std::max(0.0, std::floor((ns - tick_ns) / rates.hi)));
  earlier.host.mid_ns = std::clamp(earlier.host.mid_ns, earlier.host.lo_ns, earlier.host.hi_ns);
  return earlier;
}

}  // namespace acceltrace::clock
