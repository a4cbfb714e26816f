// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/durations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"

namespace acceltrace::analysis {
namespace {

// Longer than any trace: a duration of which nothing is known.
constexpr double kUnboundedNs = static_cast<double>(int64_t{1} << 61);
// For this many ticks, whole ns are precise enough.
constexpr uint64_t kMany = 1'000'000'000;

}  // namespace

Durations::Durations(const model::Device& device) : device_(device), paces_(device.clock, kMany) {
  const double hz = static_cast<double>(device.about.clock().nominal_hz());
  nominal_ns_ = hz > 0 ? 1e9 / hz : 1;
}

Rate Durations::RateBetween(const Mark& from, const Mark& to) const {
  if (!known()) return {0, nominal_ns_, kUnboundedNs};
  if (model::Interval many; paces_.Find(from, to, &many)) return Each(many);
  for (const Asked& asked : asked_) {
    if (asked.any && asked.from.Same(from) && asked.to.Same(to)) return asked.rate;
  }
  size_t place = (from.ticks * 3 + to.ticks) % asked_.size();
  // Parts of a command are requested in turn, from its head and from its start to the same end;
  // they must not evict each other.
  if (asked_[place].any && asked_[place].to.Same(to)) place ^= 1;
  asked_[place] = {from, to, FindRate(from, to), true};
  return asked_[place].rate;
}

Rate Durations::Each(const model::Interval& many) const {
  constexpr auto kEach = static_cast<double>(kMany);
  // Bounds are usually the same as before.
  if (many.lo_ns != many_.lo_ns) each_.lo = static_cast<double>(many.lo_ns) / kEach;
  if (many.hi_ns != many_.hi_ns) each_.hi = static_cast<double>(many.hi_ns) / kEach;
  if (many.mid_ns != many_.mid_ns) each_.mid = static_cast<double>(many.mid_ns) / kEach;
  many_ = many;
  return each_;
}

Rate Durations::FindRate(const Mark& from, const Mark& to) const {
  return Each(device_.clock.Length(kMany, kMany, from, to));
}

Amount Durations::Of(double lo_ticks, double mid_ticks, double hi_ticks, const Mark& from,
                     const Mark& to) const {
  return Of(lo_ticks, mid_ticks, hi_ticks, RateBetween(from, to));
}

Amount Durations::Elapsed(const Mark& from, const Mark& to) const {
  if (!from.SameEpoch(to)) return ToAmount(Lapse(from.host, to.host));
  const auto ticks = static_cast<double>(static_cast<int64_t>(to.ticks - from.ticks));
  if (ticks < 0) {
    // The marks are out of order, which causality.h reports.
    const Rate rate = RateBetween(to, from);
    return {(ticks - 1) * rate.hi, ticks * rate.mid, (ticks + 1) * rate.lo};
  }
  return Elapsed(from, to, RateBetween(from, to));
}

Amount Durations::Elapsed(const Mark& from, const Mark& to, const Rate& rate) const {
  const auto elapsed = static_cast<int64_t>(to.ticks - from.ticks);
  if (!from.SameEpoch(to) || elapsed < 0) return Elapsed(from, to);
  const auto ticks = static_cast<double>(elapsed);
  if (!known() || rate.Even()) return Of(ticks - 1, ticks, ticks + 1, rate);
  // The rate changed in between. The later the true begin was within its tick, the shorter the
  // duration.
  const Amount host = ToAmount(Lapse(from.host, to.host));
  Amount exact = Exactly(from, to);
  exact.lo = std::max(exact.lo - RateBetween(from, from).hi, host.lo);
  exact.hi = std::min(exact.hi + RateBetween(to, to).hi, host.hi);
  exact.lo = std::clamp(exact.lo, 0.0, std::max(0.0, exact.hi));
  exact.mid = std::clamp(host.mid, exact.lo, std::max(exact.lo, exact.hi));
  return exact;
}

namespace {

// Splits the time where the rate changes. `rate` is that of the whole, *left the number of parts
// that may still be added.
Amount InParts(const Durations& durations, const Mark& from, const Mark& to, const Rate& rate,
               int* left) {
  const uint64_t ticks = to.ticks - from.ticks;
  const auto all = static_cast<double>(ticks);
  const Amount whole = Durations::Of(all, all, all, rate);
  // A change of rate within one tick cannot be split, and unknown rates could be split forever.
  if (ticks <= 1 || *left <= 0 || rate.Even()) return whole;
  *left -= 2;
  Mark middle = from;
  middle.ticks += ticks / 2;
  const Rate first = durations.RateBetween(from, middle);
  const Rate second = durations.RateBetween(middle, to);
  // The rate is uncertain but does not change: splitting does not help.
  const auto same = [&](const Rate& part) { return part.lo == rate.lo && part.hi == rate.hi; };
  if (same(first) && same(second)) return whole;
  Amount sum = InParts(durations, from, middle, first, left);
  sum += InParts(durations, middle, to, second, left);
  return sum;
}

}  // namespace

Amount Durations::Exactly(const Mark& from, const Mark& to) const {
  if (!from.SameEpoch(to) || !from.Before(to)) return {};
  const auto ticks = static_cast<double>(to.ticks - from.ticks);
  if (!known()) return Of(0, ticks, ticks, from, to);
  // Enough for the parts around a few changes, each half as long as the previous one.
  int left = 512;
  return InParts(*this, from, to, RateBetween(from, to), &left);
}

Span Durations::Between(const Mark& from, const Mark& to) const {
  return Elapsed(from, to).Round();
}

void UnitSum::Add(const Mark& from, const Mark& to, const Rate& rate) {
  const bool after = any_ && last_.SameEpoch(from);
  const bool overlaps = after && from.Before(last_);
  overlaps_ += overlaps;
  if (!from.SameEpoch(to) || to.Before(from) || overlaps || !rate.Even()) {
    sum_ += time_->Elapsed(from, to, rate);
  } else {
    const auto ticks = static_cast<double>(to.ticks - from.ticks);
    // Its first tick was already counted if the previous one ended in it.
    const double shared = after && from.ticks == last_.ticks ? 1 : 0;
    sum_ += Durations::Of(ticks - 1, ticks, ticks + 1 - shared, rate);
  }
  if (!any_ || last_.Before(to)) last_ = to;
  any_ = true;
}

std::vector<uint32_t> RowsByStart(const model::Model& model) {
  const model::Commands& commands = model.commands;
  // Use one reference for each device, so that the order is consistent for any data.
  std::vector<std::optional<uint64_t>> references(model.devices.size());
  struct Key {
    int64_t start, end;
    uint32_t start_epoch, end_epoch;
    uint32_t row;
    auto Order() const { return std::tie(start_epoch, start, end_epoch, end, row); }
    bool operator<(const Key& other) const { return Order() < other.Order(); }
  };
  // Process each unit separately: most run their commands in the order of their rows.
  struct Unit {
    std::vector<uint32_t> rows;
    Key last{};
    bool sorted = true;
  };
  std::map<std::pair<uint32_t, uint32_t>, Unit> units;
  TickCursor start(commands.start), end(commands.end);
  const auto key = [&](uint32_t row, uint64_t reference) {
    return Key{static_cast<int64_t>(start.ticks[row] - reference),
               static_cast<int64_t>(end.ticks[row] - reference), start.epoch[row], end.epoch[row],
               row};
  };
  Cursor<uint32_t> device(commands.device), number(commands.unit);
  std::vector<std::vector<Unit*>> known(model.devices.size());
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const uint32_t d = device[i], u = number[i];
    if (u >= known[d].size()) known[d].resize(u + 1);
    Unit*& unit = known[d][u];
    if (unit == nullptr) unit = &units[{d, u}];
    if (!references[d]) references[d] = start.ticks[i];
    const Key now = key(i, *references[d]);
    unit->sorted = unit->sorted && (unit->rows.empty() || unit->last < now);
    unit->last = now;
    unit->rows.push_back(i);
  }
  std::vector<uint32_t> rows;
  rows.reserve(commands.size());
  std::vector<Key> keys;
  for (auto& [of, unit] : units) {
    if (!unit.sorted) {
      keys.clear();
      for (const uint32_t i : unit.rows) keys.push_back(key(i, *references[of.first]));
      std::sort(keys.begin(), keys.end());
      for (size_t i = 0; i < keys.size(); ++i) unit.rows[i] = keys[i].row;
    }
    rows.insert(rows.end(), unit.rows.begin(), unit.rows.end());
    std::vector<uint32_t>().swap(unit.rows);
  }
  return rows;
}

bool RowsRise(const model::Commands& commands, const std::vector<uint32_t>& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    const uint32_t before = rows[i - 1], now = rows[i];
    if (now < before && commands.device[now] == commands.device[before] &&
        commands.unit[now] == commands.unit[before]) {
      return false;
    }
  }
  return true;
}

Waits::Waits(const model::Model& model, const std::vector<uint32_t>& rows,
             const std::vector<Durations>& times)
    : model_(model), times_(times), between_(rows.size()) {
  const model::Commands& commands = model.commands;
  Cursor<uint32_t> device(commands.device), unit(commands.unit), queue(commands.queue);
  for (size_t first = 0; first < rows.size();) {
    // Find the commands of one unit.
    size_t last = first;
    bool several = false;
    const uint32_t row = rows[first];
    const uint32_t of_device = device[row], of_unit = unit[row], of_queue = queue[row];
    for (; last < rows.size() && device[rows[last]] == of_device && unit[rows[last]] == of_unit;
         ++last) {
      several |= queue[rows[last]] != of_queue;
    }
    for (size_t at = first; several && at < last; ++at) {
      const Mark fetched = MarkOf(commands.fetched, rows[at]);
      const auto from = std::partition_point(
          rows.begin() + static_cast<ptrdiff_t>(first), rows.begin() + static_cast<ptrdiff_t>(at),
          [&](size_t row) { return MarkOf(commands.start, row).Before(fetched); });
      between_[rows[at]] = static_cast<uint32_t>(rows.begin() + static_cast<ptrdiff_t>(at) - from);
    }
    first = last;
  }
}

Amount Waits::Of(size_t command, const Mark& head, const Mark& start, const Amount& ahead) const {
  Amount wait = ahead;
  if (between_[command] == 0) return wait;
  const model::Commands& commands = model_.commands;
  const Durations& time = times_[commands.device[command]];
  // Each of the other commands may end a piece of the wait, and so may a change of the queue that
  // is waited for.
  const double pieces = 2.0 * between_[command];
  const Amount edges = time.Of(pieces, 0, pieces, head, start);
  wait.lo = std::max(0.0, wait.lo - edges.hi);
  wait.hi += edges.hi;
  return wait.Within(time.Elapsed(MarkOf(commands.fetched, command), start));
}

}  // namespace acceltrace::analysis
