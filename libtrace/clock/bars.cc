// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/bars.h"

#include <algorithm>

namespace acceltrace::clock::internal {
namespace {

enum class Placed { kThere, kOpen, kNowhere };

// One curve whose end nobody knows, without wraps and jumps: there is one place for each reading.
bool IsPlain(const MapData& data) {
  return data.curves.size() == 1 && !data.line.wraps() && data.counts[0].eras.size() == 1 &&
         data.curves[0].front.smooth && data.curves[0].back.smooth;
}

bool IsKnown(const Window& when) {
  return when.lo_ns != Window::kMin || when.hi_ns != Window::kMax || when.max_jumps != ~0u;
}

// PlaceOf() for such data, step by step, with the offsets there and a tick later.
Placed PlainPlaceOf(const MapData& data, const Constraint& constraint, Place* place, Bounds* begin,
                    Bounds* end) {
  const Curve& curve = data.curves[0];
  const Era& era = data.counts[0].eras[0];
  const Window& when = constraint.when;
  const bool known = IsKnown(when) && when.lo_ns <= when.hi_ns;
  const uint64_t ticks = known ? data.line.Mask(constraint.ticks + era.shift) : constraint.ticks;
  *place = {0, data.line.SignedTicks(curve.base_ticks, ticks)};
  const double position_ns = data.PositionNs(place->position);
  *begin = OffsetAt(curve, position_ns);
  *end = OffsetAt(curve, position_ns + data.line.ns_per_tick());
  if (!known) return Placed::kThere;
  const auto at = static_cast<double>(place->position);
  if (curve.back.limit_ns < when.lo_ns || when.hi_ns < curve.front.limit_ns ||
      era.jumps < when.min_jumps || era.jumps > when.max_jumps ||
      at < static_cast<double>(era.from) || at > static_cast<double>(era.to)) {
    return Placed::kNowhere;
  }
  const Interval host = data.At(*place, *begin, *end);
  const bool meets = host.hi_ns >= when.lo_ns && host.lo_ns <= when.hi_ns;
  return meets ? Placed::kThere : Placed::kNowhere;
}

// The one place of a constraint's event. Where nothing else is known of its time that is the one
// nearest to the host's event.
Placed PlaceOf(const MapData& data, const Constraint& constraint, Place* place) {
  const Window& when = constraint.when;
  if (IsKnown(when) && when.lo_ns <= when.hi_ns) {
    const std::vector<Place> places = data.Places(constraint.ticks, when);
    Interval gap;
    if (places.size() > 1 || data.GapWithin(when, &gap)) return Placed::kOpen;
    if (places.empty()) return Placed::kNowhere;
    *place = places[0];
    return data.IsBetween(*place) ? Placed::kOpen : Placed::kThere;
  }
  *place = data.Locate(constraint.ticks, constraint.host_ns);
  return Placed::kThere;
}

}  // namespace

std::vector<std::vector<Bar>> SortBars(const MapData& data,
                                       const std::vector<Constraint>& constraints,
                                       std::vector<std::vector<double>>* rejected) {
  std::vector<std::vector<Bar>> bars(data.curves.size());
  rejected->assign(data.curves.size(), {});
  // By the host's time: what the ticks say of it is what is in doubt.
  const auto reject = [&](const Constraint& constraint) {
    const size_t near = data.CurveNear(constraint.host_ns);
    (*rejected)[near].push_back(PositionNear(data.curves[near], constraint.host_ns));
  };
  const bool plain = IsPlain(data);
  for (const Constraint& constraint : constraints) {
    Place place;
    Bounds bounds, end;
    const Placed placed = plain ? PlainPlaceOf(data, constraint, &place, &bounds, &end)
                                : PlaceOf(data, constraint, &place);
    if (placed == Placed::kNowhere) reject(constraint);
    if (placed != Placed::kThere) continue;
    const Curve& curve = data.curves[place.curve];
    Bar bar;
    bar.position_ns = data.PositionNs(place.position);
    if (!plain) bounds = OffsetAt(curve, bar.position_ns);
    const double offset =
        static_cast<double>(constraint.host_ns - curve.base_host_ns) - bar.position_ns;
    if (constraint.order == Constraint::Order::kHostFirst) {
      // Before the end of the tick: as long as one lasts there at most.
      const double tick_ns = data.line.ns_per_tick();
      if (!plain) end = OffsetAt(curve, bar.position_ns + tick_ns);
      const double drift = std::max({0.0, end.hi - bounds.hi, end.lo - bounds.lo});
      bar.gate.lo = offset - tick_ns - drift;
      if (bar.gate.lo > bounds.hi) {
        reject(constraint);
        continue;
      }
    } else {
      bar.gate.hi = offset + 1;
      if (bar.gate.hi < bounds.lo) {
        reject(constraint);
        continue;
      }
    }
    bars[place.curve].push_back(bar);
  }
  return bars;
}

}  // namespace acceltrace::clock::internal
