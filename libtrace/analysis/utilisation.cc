// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/utilisation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

#include "libtrace/analysis/command_cursor.h"
#include "libtrace/analysis/counters.h"
#include "libtrace/analysis/cursor.h"

namespace acceltrace::analysis {
namespace {

// First fetch to last completion: by the device's own clock, if it was one count all the while,
// else by the host's.
class Window {
 public:
  void See(const Mark& from, const Mark& to) {
    if (!any_) {
      first_ = from, last_ = to;
      begin_ = from.host, end_ = to.host;
    }
    any_ = true;
    one_epoch_ &= from.SameEpoch(first_) && to.SameEpoch(first_);
    if (from.Before(first_)) first_ = from;
    if (last_.Before(to)) last_ = to;
    begin_ = {std::min(begin_.lo_ns, from.host.lo_ns), std::min(begin_.mid_ns, from.host.mid_ns),
              std::min(begin_.hi_ns, from.host.hi_ns)};
    end_ = {std::max(end_.lo_ns, to.host.lo_ns), std::max(end_.mid_ns, to.host.mid_ns),
            std::max(end_.hi_ns, to.host.hi_ns)};
  }
  bool any() const { return any_; }
  Amount Length(const Durations& time) const {
    return one_epoch_ ? time.Elapsed(first_, last_) : ToAmount(Lapse(begin_, end_));
  }

 private:
  bool any_ = false, one_epoch_ = true;
  Mark first_, last_;
  model::Interval begin_, end_;
};

// What there is on the way from one mark to another of a table's rows.
struct Ways {
  Ways(const model::Column<uint32_t>& devices, const model::DeviceTimes& begins,
       const model::DeviceTimes& ends)
      : device(devices), from(begins), to(ends) {}
  Cursor<uint32_t> device;
  MarkCursor from, to;
};

Window FindWindow(const model::Model& model, uint32_t device) {
  Window window;
  const model::Jobs& jobs = model.jobs;
  auto ways = std::make_unique<Ways>(jobs.device, jobs.fetched, jobs.completion);
  Cursor<uint8_t> on_device(jobs.on_device);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (ways->device[i] == device && on_device[i]) window.See(ways->from[i], ways->to[i]);
  }
  const model::Commands& commands = model.commands;
  ways = std::make_unique<Ways>(commands.device, commands.fetched, commands.end);
  for (size_t i = 0; i < commands.size(); ++i) {
    if (ways->device[i] == device) window.See(ways->from[i], ways->to[i]);
  }
  return window;
}

void CheckCounters(const model::Model& model, const model::Device& device,
                   const std::vector<uint32_t>& rows, UnitUse* use) {
  const model::CounterSamples& samples = device.counters;
  if (samples.size() < 2) return;
  const size_t last = samples.size() - 1;
  const UnitCounters found = FindUnitCounters(device, use->unit);
  CounterCheck& check = use->check;
  const auto busy = Grown(samples, found.busy, 0, last);
  const auto commands = Grown(samples, found.commands, 0, last);
  if (!busy || !commands) return;
  check.available = true;
  check.busy_ticks = *busy;
  check.commands = *commands;
  for (const auto& stall : found.stalls) {
    check.stall_ticks.push_back(Grown(samples, stall, 0, last).value_or(0));
  }
  check.commands_stall_ticks.assign(check.stall_ticks.size(), 0);
  const Mark from = MarkOf(samples.time, 0), to = MarkOf(samples.time, last);
  const auto columns = std::make_unique<CommandCursor>(model);
  for (const uint32_t row : rows) {
    const Mark head = columns->head[row], end = columns->end[row];
    if (!from.Before(end) || !head.Before(to)) continue;
    const auto busy_ticks = columns->BusyTicks(row, head, end);
    // Not known, or not all of it in between: either way there is nothing to compare.
    if (head.Before(from) || to.Before(end) || !busy_ticks) {
      ++check.straddling;
      continue;
    }
    ++check.commands_seen;
    check.commands_busy_ticks += *busy_ticks;
    for (size_t s = 0; s < check.commands_stall_ticks.size(); ++s) {
      check.commands_stall_ticks[s] += columns->StallTicks(row, s);
    }
  }
  const auto idle = Grown(samples, found.idle, 0, last);
  const auto elapsed = Grown(samples, FindCounter(device, "elapsed_ticks"), 0, last);
  if (idle && elapsed) {
    check.has_law = true;
    const uint64_t held =
        std::accumulate(check.stall_ticks.begin(), check.stall_ticks.end(), *busy);
    check.law_error_ticks = static_cast<int64_t>(held + *idle - *elapsed);
  }
}

// What the commands of a unit did, one after the other.
class UnitTotal {
 public:
  UnitTotal(const model::Model& model, const Durations& time, UnitUse* use)
      : cursor_(std::make_unique<Columns>(model)),
        time_(time),
        use_(*use),
        ran_(&time),
        held_(&time) {}

  void Add(size_t row) {
    Columns& columns = *cursor_;
    const Mark head = columns.head[row], start = columns.start[row], end = columns.end[row];
    const uint32_t queue = columns.queue[row], limiter = columns.limiter[row];
    several_queues_ |= use_.commands > 0 && queue != queue_;
    queue_ = queue;
    ++use_.commands;
    use_.failed += columns.status[row] != 0;
    use_.work += columns.work[row];
    const bool one_epoch = head.SameEpoch(end);
    const uint64_t busy_ticks = one_epoch ? columns.BusyTicks(row, head, end).value_or(0) : 0;
    use_.busy_ticks += busy_ticks;
    if (limiter < use_.limiters.size()) ++use_.limiters[limiter];
    const Rate ran = time_.RateBetween(start, end), held = time_.RateBetween(head, end);
    ran_.Add(start, end, ran);
    held_.Add(head, end, held);
    waited_ += time_.Elapsed(head, start);
    tick_ += Durations::Of(1, 1, 1, ran);
    const double held_ticks = Ticks(head, end);
    AddPart(static_cast<double>(busy_ticks), held_ticks, ran, ran, &use_.busy);
    // The clock was set anew meanwhile: what the stalls leave is anything.
    if (!one_epoch) use_.busy.hi += time_.Elapsed(start, end, ran).hi;
    for (size_t s = 0; s < use_.stall_ticks.size(); ++s) {
      const uint64_t ticks = columns.StallTicks(row, s);
      use_.stall_ticks[s] += ticks;
      // From its head on: the clock may have run at another rate until its start.
      AddPart(static_cast<double>(ticks), held_ticks, held, ran, &use_.stalls[s]);
    }
  }

  void Finish(const Amount& window) {
    // Heads are no instants where a unit waits for one queue between the commands of another.
    Amount held = held_.sum();
    if (held_.overlaps() > 0) {
      held = ran_.sum();
      held += waited_;
    }
    held = held.Within(window);
    const auto cut = [&](Amount* part) {
      if (several_queues_) {
        // Waiting in pieces: as many of them as there are commands, whoever's they are.
        part->lo = std::max(0.0, std::min(part->lo, part->mid - kPartOverTicks * tick_.hi));
        part->hi = std::max(part->hi, part->mid + kPartUnderTicks * tick_.hi);
      }
      *part = part->Within(held);
    };
    cut(&use_.busy);
    for (Amount& stall : use_.stalls) cut(&stall);
    use_.idle = Less(window, held).Within(window);
    use_.stalled = Less(held, use_.busy).Within(held);
    use_.busy_share = ShareOf(use_.busy, window);
    use_.stalled_share = ShareOf(use_.stalled, window);
    use_.idle_share = ShareOf(use_.idle, window);
    for (const Amount& stall : use_.stalls) use_.stall_shares.push_back(ShareOf(stall, window));
    use_.work_per_s = PerSecond(static_cast<double>(use_.work), use_.busy);
    use_.peak_share = OfPeak(use_.work_per_s, use_.peak_work_per_s);
  }

  uint64_t overlaps() const { return ran_.overlaps(); }

 private:
  static double Ticks(const Mark& from, const Mark& to) {
    return from.SameEpoch(to) && !to.Before(from) ? static_cast<double>(to.ticks - from.ticks)
                                                  : std::numeric_limits<double>::infinity();
  }

  // held: from where the part may begin, ran: from where it is likely to.
  static void AddPart(double ticks, double held_ticks, const Rate& held, const Rate& ran,
                      Amount* part) {
    Amount of =
        Durations::Of(ticks - kPartOverTicks, ticks,
                      std::min(ticks + kPartUnderTicks, std::max(held_ticks, ticks) + 1), held);
    of.mid = std::clamp(ticks * ran.mid, of.lo, std::max(of.lo, of.hi));
    *part += of;
  }

  struct Columns : CommandCursor {
    explicit Columns(const model::Model& model)
        : CommandCursor(model),
          queue(model.commands.queue),
          status(model.commands.status),
          limiter(model.commands.limiter),
          work(model.commands.work) {}
    Cursor<uint32_t> queue, status, limiter;
    Cursor<uint64_t> work;
  };

  const std::unique_ptr<Columns> cursor_;
  const Durations& time_;
  UnitUse& use_;
  UnitSum ran_, held_;
  Amount waited_, tick_;
  uint32_t queue_ = 0;
  bool several_queues_ = false;
};

// rows: those of the unit, by start.
UnitUse UseOfUnit(const model::Model& model, uint32_t device_row, uint32_t unit,
                  const std::vector<uint32_t>& rows, DeviceUse* device_use) {
  const model::Device& device = model.devices[device_row];
  const proto::Unit& about = device.about.units(static_cast<int>(unit));
  UnitUse use;
  use.device = device_row;
  use.unit = unit;
  use.name = about.name();
  use.work_unit = about.work_unit();
  use.peak_work_per_s = about.peak_work_per_s();
  use.stall_ticks.assign(static_cast<size_t>(device.about.stalls_size()), 0);
  use.stalls.resize(use.stall_ticks.size());
  use.limiters.assign(static_cast<size_t>(device.about.limiters_size()), 0);
  const Durations time(device);
  UnitTotal total(model, time, &use);
  for (size_t row : rows) total.Add(row);
  total.Finish(device_use->window);
  device_use->overlapping_commands += total.overlaps();
  CheckCounters(model, device, rows, &use);
  return use;
}

// What UnitSum says of overlaps, of all units at once: commands of each in order of their starts.
class Overlaps {
 public:
  explicit Overlaps(const model::Model& model)
      : commands_(model.commands),
        device_(commands_.device),
        unit_(commands_.unit),
        start_(commands_.start),
        end_(commands_.end) {
    reference_.resize(model.devices.size());
    for (const model::Device& device : model.devices) {
      units_.emplace_back(static_cast<size_t>(device.about.units_size()));
    }
  }

  // Whether the rows are in order, unit by unit, as RowsByStart() has them.
  bool CountInRowOrder() {
    for (size_t row = 0; row < commands_.size(); ++row) {
      if (!Step(row)) return false;
    }
    return true;
  }
  void Count(const std::vector<uint32_t>& rows) {
    for (std::vector<Unit>& units : units_) std::fill(units.begin(), units.end(), Unit{});
    for (const uint32_t row : rows) Step(row);
  }
  std::vector<uint64_t> ByDevice() const {
    std::vector<uint64_t> sums;
    for (const std::vector<Unit>& units : units_) {
      sums.push_back(0);
      for (const Unit& unit : units) sums.back() += unit.overlaps;
    }
    return sums;
  }

 private:
  struct Time {
    uint64_t ticks;
    uint32_t epoch;
  };
  struct Unit {
    bool any = false;
    std::tuple<uint32_t, int64_t, uint32_t, int64_t> key;  // of the command before
    Time last{};                                           // the latest end so far
    size_t last_row = 0;
    uint64_t overlaps = 0;
  };

  static bool SameEpoch(const Time& a, const Time& b) {
    return a.epoch == b.epoch && a.epoch != clock::kNoEpoch;
  }
  static bool Less(const Time& a, const Time& b) {
    return a.epoch != b.epoch ? a.epoch < b.epoch : static_cast<int64_t>(b.ticks - a.ticks) > 0;
  }

  // False: it comes before the one before it.
  bool Step(size_t row) {
    const uint32_t device = device_[row];
    Unit& unit = units_[device][unit_[row]];
    const Time start{start_.ticks[row], start_.epoch[row]}, end{end_.ticks[row], end_.epoch[row]};
    std::optional<uint64_t>& reference = reference_[device];
    if (!reference) reference = start.ticks;
    const std::tuple key(start.epoch, static_cast<int64_t>(start.ticks - *reference), end.epoch,
                         static_cast<int64_t>(end.ticks - *reference));
    const bool in_order = !unit.any || unit.key <= key;
    if (unit.any && SameEpoch(unit.last, start)) unit.overlaps += Less(start, unit.last);
    if (!unit.any || LastBefore(unit, end, row)) unit.last = end, unit.last_row = row;
    unit.any = true;
    unit.key = key;
    return in_order;
  }
  bool LastBefore(const Unit& unit, const Time& end, size_t row) const {
    if (unit.last.epoch == clock::kNoEpoch || end.epoch == clock::kNoEpoch) {
      return MarkOf(commands_.end, unit.last_row).Before(MarkOf(commands_.end, row));
    }
    return Less(unit.last, end);
  }

  const model::Commands& commands_;
  Cursor<uint32_t> device_, unit_;
  TickCursor start_, end_;
  std::vector<std::optional<uint64_t>> reference_;  // by device: its first command's start
  std::vector<std::vector<Unit>> units_;
};

}  // namespace

std::vector<uint64_t> CountOverlaps(const model::Model& model) {
  Overlaps overlaps(model);
  if (!overlaps.CountInRowOrder()) overlaps.Count(RowsByStart(model));
  return overlaps.ByDevice();
}

std::vector<DeviceUse> ComputeUtilisation(const model::Model& model) {
  std::vector<DeviceUse> devices;
  std::vector<std::vector<std::vector<uint32_t>>> rows(model.devices.size());
  for (size_t d = 0; d < model.devices.size(); ++d) {
    rows[d].resize(static_cast<size_t>(model.devices[d].about.units_size()));
  }
  {
    Cursor<uint32_t> device(model.commands.device), unit(model.commands.unit);
    for (const uint32_t i : RowsByStart(model)) rows[device[i]][unit[i]].push_back(i);
  }
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    DeviceUse use;
    use.device = d;
    const Window window = FindWindow(model, d);
    if (!window.any()) continue;
    use.window = window.Length(Durations(model.devices[d]));
    for (uint32_t unit = 0; unit < rows[d].size(); ++unit) {
      use.units.push_back(UseOfUnit(model, d, unit, rows[d][unit], &use));
    }
    devices.push_back(std::move(use));
  }
  return devices;
}

}  // namespace acceltrace::analysis
