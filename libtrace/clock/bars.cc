// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/bars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>

#include "libtrace/clock/order_sieve.h"

namespace acceltrace::clock::internal {
namespace {

enum class Placed { kThere, kOpen, kNowhere };

bool IsKnown(const Window& when) {
  return when.lo_ns != Window::kMin || when.hi_ns != Window::kMax || when.max_jumps != ~0u;
}

// Same as PlaceOf() for plain data, but also yields the offsets at the place. Those a tick later
// are only computed if the result depends on them.
template <typename OffsetsAt>
Placed PlainPlaceOf(const MapData& data, const Constraint& constraint, const OffsetsAt& offset_at,
                    Place* place, Bounds* begin) {
  const Curve& curve = data.curves[0];
  const Era& era = data.counts[0].eras[0];
  const Window& when = constraint.when;
  const bool known = IsKnown(when) && when.lo_ns <= when.hi_ns;
  const uint64_t ticks = known ? data.line.Mask(constraint.ticks + era.shift) : constraint.ticks;
  *place = {0, data.line.SignedTicks(curve.base_ticks, ticks)};
  const double position_ns = data.PositionNs(place->position);
  *begin = offset_at(curve, position_ns);
  if (!known) return Placed::kThere;
  const auto at = static_cast<double>(place->position);
  if (curve.back.limit_ns < when.lo_ns || when.hi_ns < curve.front.limit_ns ||
      era.jumps < when.min_jumps || era.jumps > when.max_jumps ||
      at < static_cast<double>(era.from) || at > static_cast<double>(era.to)) {
    return Placed::kNowhere;
  }
  // Compare with the times that At() would return: lo_ns is this one, and hi_ns is not earlier than
  // what the test below uses.
  const int64_t base_ns = curve.base_host_ns;
  if (HostNs(base_ns, std::floor(position_ns + begin->lo)) > when.hi_ns) return Placed::kNowhere;
  constexpr double kRoundingNs = 1, kRounded = 1e15;
  const bool exact = std::abs(position_ns) < kRounded && std::abs(begin->hi) < kRounded &&
                     data.line.ns_per_tick() < kRounded;
  if (exact && HostNs(base_ns, position_ns + begin->hi - kRoundingNs) >= when.lo_ns) {
    return Placed::kThere;
  }
  const Bounds end = EndsAt(curve, position_ns + data.line.ns_per_tick());
  return data.At(*place, *begin, end).hi_ns >= when.lo_ns ? Placed::kThere : Placed::kNowhere;
}

// Finds the only possible place of a constraint's event. If nothing else is known of its time, that
// is the place nearest to the host's event.
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

// Converts a constraint to a bar on the curve at its place, given the offsets there.
Bar BarOf(const MapData& data, const Constraint& constraint, const Place& place,
          const Bounds& begin) {
  const Curve& curve = data.curves[place.curve];
  Bar bar;
  bar.position_ns = data.PositionNs(place.position);
  const double offset =
      static_cast<double>(constraint.host_ns - curve.base_host_ns) - bar.position_ns;
  if (constraint.order == Constraint::Order::kHostFirst) {
    // The event happened before the end of the tick, which lasts at most this long.
    const Bounds end = EndsAt(curve, bar.position_ns + data.line.ns_per_tick());
    const double drift = std::max({0.0, end.hi - begin.hi, end.lo - begin.lo});
    bar.gate.lo = offset - data.line.ns_per_tick() - drift;
  } else {
    bar.gate.hi = offset + 1;
  }
  return bar;
}

// Describes a constraint that has no place within its window, or that its curve contradicts.
Wrong WrongOf(const MapData& data, const Constraint& constraint) {
  // The ticks are in doubt, so the curve is selected by the host's time.
  const size_t near = data.CurveNear(constraint.host_ns);
  const Curve& curve = data.curves[near];
  Wrong wrong;
  wrong.curve = near;
  wrong.position_ns = PositionNear(curve, constraint.host_ns);
  const Place place = data.Locate(constraint.ticks, constraint.host_ns);
  if (place.curve != near || data.IsBetween(place)) return wrong;
  const double position_ns = data.PositionNs(place.position);
  const Bounds begin = OffsetAt(curve, position_ns);
  const Bar bar = BarOf(data, constraint, place, begin);
  wrong.below = std::max(0.0, begin.lo - bar.gate.hi);
  wrong.above = std::max(0.0, bar.gate.lo - begin.hi);
  return wrong;
}

// Returns the width of the narrower one of the two brackets around a position.
double RoomAround(const Draft& draft, double position_ns) {
  constexpr double kNothing = 0;
  for (const Stretch& stretch : draft.stretches) {
    const std::vector<Node>& nodes = stretch.nodes;
    if (&stretch != &draft.stretches.back() && nodes.back().position_ns < position_ns) continue;
    const auto is_before = [&](const Node& node) { return node.position_ns <= position_ns; };
    const auto is_bracket = [](const Node& node) {
      return node.kind == Node::Kind::kBracket && !node.rejected;
    };
    const auto next = std::partition_point(nodes.begin(), nodes.end(), is_before);
    const auto after = std::find_if(next, nodes.end(), is_bracket);
    const auto before = std::find_if(std::make_reverse_iterator(next), nodes.rend(), is_bracket);
    Range width = {kInfinity, kInfinity};
    if (before != nodes.rend()) width.lo = before->gate.hi - before->gate.lo;
    if (after != nodes.end()) width.hi = after->gate.hi - after->gate.lo;
    const double room = std::min(width.lo, width.hi);
    return room < kInfinity ? room : kNothing;
  }
  return kNothing;
}

// Calls visit(at) for each constraint of a run that the sieve does not discard.
template <typename Visit>
void EachLeftOf(const Constraints::Run& run, OrderSieve* sieve, const Visit& visit) {
  for (size_t at = 0; at < run.size; at += kLanes) {
    const OrderSieve::Found found = sieve->Next(run, at);
    at = found.first;
    for (unsigned left = found.which; left != 0; left &= left - 1) {
      visit(at + static_cast<size_t>(std::countr_zero(left)));
    }
  }
}

// Calls visit(constraint) for each constraint that the sieve does not discard, or for all of them
// without a sieve. Returns the number of all constraints.
template <typename Visit>
uint64_t EachLeft(const Constraints& constraints, OrderSieve* sieve, const Visit& visit) {
  if (sieve == nullptr) {
    constraints.Each(visit);
    return constraints.size();
  }
  Constraints::Reader reader(constraints);
  for (size_t i = 0; i < constraints.size();) {
    const Constraints::Run run = reader.RunAt(i);
    if (run.size == 0) visit(reader.At(i++));
    EachLeftOf(run, sieve, [&](size_t at) { visit(reader.At(i + at)); });
    i += run.size;
  }
  return constraints.size();
}

// Also visits those of the source.
template <typename Visit>
uint64_t EachLeftOfAll(const MapData& data, const Constraints& constraints,
                       const TightestBars* bars, const Visit& visit) {
  std::optional<OrderSieve> sieve;
  if (IsPlain(data)) sieve.emplace(data, bars);
  OrderSieve* const chosen = sieve.has_value() ? &*sieve : nullptr;
  uint64_t count = EachLeft(constraints, chosen, visit);
  OrderSource* const source = constraints.source().get();
  for (size_t chunk = 0; source != nullptr && chunk < source->chunks(); ++chunk) {
    const OrderSource::Chunk orders = source->ChunkAt(chunk);
    if (orders.others != nullptr) {
      count += EachLeft(*orders.others, chosen, visit);
      continue;
    }
    for (const Constraints::Run* run : {&orders.begins, &orders.ends}) {
      const auto visit_one = [&](size_t at) {
        Constraint one = run->At(at);
        one.when.near_ns = source->NearNs(chunk, at);
        visit(one);
      };
      count += run->size;
      if (chosen != nullptr) {
        EachLeftOf(*run, chosen, visit_one);
      } else {
        for (size_t at = 0; at < run->size; ++at) visit_one(at);
      }
    }
  }
  return count;
}

// Calls keep(curve, bar, offsets) for each constraint that its curve may meet and that may be
// useful. offset_at(curve, position) is OffsetAt(), or EndsAt() if keep() needs no more. `bars` are
// those to which keep() adds, if it does. Returns the number of constraints.
template <typename OffsetsAt, typename Keep>
uint64_t EachBar(const MapData& data, const Constraints& constraints, std::vector<Wrong>* wrong,
                 const TightestBars* bars, const OffsetsAt& offset_at, const Keep& keep) {
  wrong->clear();
  const bool plain = IsPlain(data);
  return EachLeftOfAll(data, constraints, bars, [&](const Constraint& constraint) {
    Place place;
    Bounds begin;
    const Placed placed = plain ? PlainPlaceOf(data, constraint, offset_at, &place, &begin)
                                : PlaceOf(data, constraint, &place);
    if (placed == Placed::kNowhere) wrong->push_back(WrongOf(data, constraint));
    if (placed != Placed::kThere) return;
    if (!plain) begin = offset_at(data.curves[place.curve], data.PositionNs(place.position));
    const Bar bar = BarOf(data, constraint, place, begin);
    if (bar.gate.lo > begin.hi || bar.gate.hi < begin.lo) {
      wrong->push_back(WrongOf(data, constraint));
    } else {
      keep(place.curve, bar, begin);
    }
  });
}

}  // namespace

std::vector<TightestBars> SortBars(const MapData& data, const std::vector<Draft>& drafts,
                                   const Constraints& constraints, std::vector<Wrong>* wrong,
                                   uint64_t* count) {
  std::vector<TightestBars> bars;
  bars.reserve(drafts.size());
  for (const Draft& draft : drafts) bars.emplace_back(draft);
  *count =
      EachBar(data, constraints, wrong, bars.data(), OffsetAt,
              [&](size_t curve, const Bar& bar, const Bounds& at) { bars[curve].Add(bar, at); });
  return bars;
}

void FindWrong(const MapData& data, const Constraints& constraints, std::vector<Wrong>* wrong) {
  EachBar(data, constraints, wrong, nullptr, EndsAt, [](size_t, const Bar&, const Bounds&) {});
}

void WidenCurves(std::span<const Wrong> wrong, std::vector<Draft>* drafts, MapData* data) {
  constexpr double kRoundingNs = 0.05;
  std::vector<Range> by(drafts->size(), {0, 0});
  for (const Wrong& one : wrong) {
    const double needed = std::max(one.below, one.above);
    if (needed == 0 || needed > RoomAround((*drafts)[one.curve], one.position_ns)) continue;
    by[one.curve].lo = std::max(by[one.curve].lo, one.below);
    by[one.curve].hi = std::max(by[one.curve].hi, one.above);
  }
  for (size_t i = 0; i < drafts->size(); ++i) {
    if (by[i].lo == 0 && by[i].hi == 0) continue;
    for (Stretch& stretch : (*drafts)[i].stretches) {
      for (Node& node : stretch.nodes) {
        node.gate.lo -= by[i].lo + kRoundingNs;
        node.gate.hi += by[i].hi + kRoundingNs;
      }
    }
    uint64_t unmet = 0;
    data->curves[i] = FitCurve(&(*drafts)[i], &unmet);
  }
}

}  // namespace acceltrace::clock::internal
