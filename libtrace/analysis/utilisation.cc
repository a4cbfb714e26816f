// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/utilisation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

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

// Of each device.
std::vector<Window> FindWindows(const model::Model& model) {
  std::vector<Window> windows(model.devices.size());
  const model::Jobs& jobs = model.jobs;
  auto ways = std::make_unique<Ways>(jobs.device, jobs.fetched, jobs.completion);
  Cursor<uint8_t> on_device(jobs.on_device);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const uint32_t device = ways->device[i];
    if (on_device[i] && device < windows.size()) windows[device].See(ways->from[i], ways->to[i]);
  }
  const model::Commands& commands = model.commands;
  ways = std::make_unique<Ways>(commands.device, commands.fetched, commands.end);
  for (size_t i = 0; i < commands.size(); ++i) {
    windows[ways->device[i]].See(ways->from[i], ways->to[i]);
  }
  return windows;
}

// One command, as the totals of its unit take it.
struct Command {
  Mark head, start, end;
  uint32_t queue = 0, status = 0, limiter = 0;
  uint64_t work = 0;
  std::vector<uint64_t> stall_ticks;  // by the device's causes
  std::optional<uint64_t> busy_ticks;
};

// Columns of commands, of all units.
class Columns : public CommandCursor {
 public:
  explicit Columns(const model::Model& model)
      : CommandCursor(model),
        unit(model.commands.unit),
        queue_(model.commands.queue),
        status_(model.commands.status),
        limiter_(model.commands.limiter),
        work_(model.commands.work) {}

  void Read(size_t row, const model::Device& of, Command* command) {
    command->head = head[row], command->start = start[row], command->end = end[row];
    command->queue = queue_[row], command->status = status_[row];
    command->limiter = limiter_[row], command->work = work_[row];
    std::vector<uint64_t>& stalls = command->stall_ticks;
    stalls.resize(static_cast<size_t>(of.about.stalls_size()));
    Stalls(row, stalls);
    command->busy_ticks = BusyTicks(of, command->head, command->end,
                                    std::accumulate(stalls.begin(), stalls.end(), uint64_t{0}));
  }

  Cursor<uint32_t> unit;

 private:
  Cursor<uint32_t> queue_, status_, limiter_;
  Cursor<uint64_t> work_;
};

// The counters of a unit against its commands.
class CounterTotal {
 public:
  CounterTotal(const model::Device& device, uint32_t unit) {
    const model::CounterSamples& samples = device.counters;
    if (samples.size() < 2) return;
    const size_t last = samples.size() - 1;
    const UnitCounters found = FindUnitCounters(device, unit);
    const auto busy = Grown(samples, found.busy, 0, last);
    const auto commands = Grown(samples, found.commands, 0, last);
    if (!busy || !commands) return;
    check_.available = true;
    check_.busy_ticks = *busy;
    check_.commands = *commands;
    for (const auto& stall : found.stalls) {
      check_.stall_ticks.push_back(Grown(samples, stall, 0, last).value_or(0));
    }
    check_.commands_stall_ticks.assign(check_.stall_ticks.size(), 0);
    from_ = MarkOf(samples.time, 0), to_ = MarkOf(samples.time, last);
    const auto idle = Grown(samples, found.idle, 0, last);
    const auto elapsed = Grown(samples, FindCounter(device, "elapsed_ticks"), 0, last);
    if (idle && elapsed) {
      check_.has_law = true;
      const uint64_t held =
          std::accumulate(check_.stall_ticks.begin(), check_.stall_ticks.end(), *busy);
      check_.law_error_ticks = static_cast<int64_t>(held + *idle - *elapsed);
    }
  }

  void Add(const Command& command) {
    if (!check_.available || !from_.Before(command.end) || !command.head.Before(to_)) return;
    // Not known, or not all of it in between: either way there is nothing to compare.
    if (command.head.Before(from_) || to_.Before(command.end) || !command.busy_ticks) {
      ++check_.straddling;
      return;
    }
    ++check_.commands_seen;
    check_.commands_busy_ticks += *command.busy_ticks;
    for (size_t s = 0; s < check_.commands_stall_ticks.size(); ++s) {
      check_.commands_stall_ticks[s] += command.stall_ticks[s];
    }
  }

  const CounterCheck& check() const { return check_; }

 private:
  CounterCheck check_;
  Mark from_, to_;  // the first and the last snapshot
};

// What the commands of a unit did, one after the other.
class UnitTotal {
 public:
  UnitTotal(const model::Device& device, uint32_t device_row, uint32_t unit, const Durations* time)
      : time_(*time), counters_(device, unit), ran_(time), held_(time) {
    const proto::Unit& about = device.about.units(static_cast<int>(unit));
    use_.device = device_row;
    use_.unit = unit;
    use_.name = about.name();
    use_.work_unit = about.work_unit();
    use_.peak_work_per_s = about.peak_work_per_s();
    use_.stall_ticks.assign(static_cast<size_t>(device.about.stalls_size()), 0);
    use_.stalls.resize(use_.stall_ticks.size());
    use_.limiters.assign(static_cast<size_t>(device.about.limiters_size()), 0);
  }

  // In order of their starts.
  void Add(const Command& command) {
    const Mark &head = command.head, &start = command.start, &end = command.end;
    several_queues_ |= use_.commands > 0 && command.queue != queue_;
    queue_ = command.queue;
    ++use_.commands;
    use_.failed += command.status != 0;
    use_.work += command.work;
    const bool one_epoch = head.SameEpoch(end);
    const uint64_t busy_ticks = one_epoch ? command.busy_ticks.value_or(0) : 0;
    use_.busy_ticks += busy_ticks;
    if (command.limiter < use_.limiters.size()) ++use_.limiters[command.limiter];
    const Rate ran = time_.RateBetween(start, end);
    const Rate held = head.Same(start) ? ran : time_.RateBetween(head, end);
    ran_.Add(start, end, ran);
    held_.Add(head, end, held);
    waited_ += time_.Elapsed(head, start);
    tick_ += Durations::Of(1, 1, 1, ran);
    const double held_ticks = Ticks(head, end);
    use_.busy += Part(static_cast<double>(busy_ticks), held_ticks, ran, ran);
    // The clock was set anew meanwhile: what the stalls leave is anything.
    if (!one_epoch) use_.busy.hi += time_.Elapsed(start, end, ran).hi;
    // From its head on: the clock may have run at another rate until its start.
    const Amount none = Part(0, held_ticks, held, ran);
    for (size_t s = 0; s < use_.stall_ticks.size(); ++s) {
      const uint64_t ticks = command.stall_ticks[s];
      use_.stall_ticks[s] += ticks;
      use_.stalls[s] += ticks == 0 ? none : Part(static_cast<double>(ticks), held_ticks, held, ran);
    }
    counters_.Add(command);
  }

  UnitUse Finish(const Amount& window) {
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
    use_.check = counters_.check();
    return std::move(use_);
  }

  uint64_t overlaps() const { return ran_.overlaps(); }

 private:
  static double Ticks(const Mark& from, const Mark& to) {
    return from.SameEpoch(to) && !to.Before(from) ? static_cast<double>(to.ticks - from.ticks)
                                                  : std::numeric_limits<double>::infinity();
  }

  // held: from where the part may begin, ran: from where it is likely to.
  static Amount Part(double ticks, double held_ticks, const Rate& held, const Rate& ran) {
    Amount of =
        Durations::Of(ticks - kPartOverTicks, ticks,
                      std::min(ticks + kPartUnderTicks, std::max(held_ticks, ticks) + 1), held);
    of.mid = std::clamp(ticks * ran.mid, of.lo, std::max(of.lo, of.hi));
    return of;
  }

  const Durations& time_;
  UnitUse use_;
  CounterTotal counters_;
  UnitSum ran_, held_;
  Amount waited_, tick_;
  uint32_t queue_ = 0;
  bool several_queues_ = false;
};

// By device and unit.
std::vector<std::vector<UnitTotal>> TotalsOfUnits(const model::Model& model,
                                                  const std::vector<Durations>& times) {
  std::vector<std::vector<UnitTotal>> totals(model.devices.size());
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    const auto units = static_cast<uint32_t>(model.devices[d].about.units_size());
    for (uint32_t unit = 0; unit < units; ++unit) {
      totals[d].emplace_back(model.devices[d], d, unit, &times[d]);
    }
  }
  const std::vector<uint32_t> rows = RowsByStart(model);
  const bool rise = RowsRise(model.commands, rows);
  const auto columns = std::make_unique<Columns>(model);
  Command command;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = rise ? i : rows[i];
    const uint32_t d = columns->device[row];
    columns->Read(row, model.devices[d], &command);
    totals[d][columns->unit[row]].Add(command);
  }
  return totals;
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

    // The command before was there, and all these times are of one count.
    bool OfOneCount(uint32_t start_epoch, uint32_t end_epoch) const {
      return any && start_epoch == end_epoch && start_epoch != clock::kNoEpoch &&
             std::get<0>(key) == start_epoch && std::get<2>(key) == start_epoch &&
             last.epoch == start_epoch;
    }
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
    if (unit.OfOneCount(start.epoch, end.epoch)) {  // as nearly always
      const auto began = static_cast<int64_t>(start.ticks - *reference);
      const auto ended = static_cast<int64_t>(end.ticks - *reference);
      int64_t& last_began = std::get<1>(unit.key);
      int64_t& last_ended = std::get<3>(unit.key);
      const bool in_order = last_began < began || (last_began == began && last_ended <= ended);
      unit.overlaps += static_cast<int64_t>(unit.last.ticks - start.ticks) > 0;
      if (static_cast<int64_t>(end.ticks - unit.last.ticks) > 0) {
        unit.last = end, unit.last_row = row;
      }
      last_began = began, last_ended = ended;
      return in_order;
    }
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
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  const std::vector<Window> windows = FindWindows(model);
  std::vector<std::vector<UnitTotal>> totals = TotalsOfUnits(model, times);
  std::vector<DeviceUse> devices;
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    if (!windows[d].any()) continue;
    DeviceUse use;
    use.device = d;
    use.window = windows[d].Length(times[d]);
    for (UnitTotal& total : totals[d]) {
      use.overlapping_commands += total.overlaps();
      use.units.push_back(total.Finish(use.window));
    }
    devices.push_back(std::move(use));
  }
  return devices;
}

}  // namespace acceltrace::analysis
