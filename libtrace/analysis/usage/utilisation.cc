// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/utilisation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "libtrace/analysis/rows/counters.h"
#include "libtrace/analysis/rows/cursor.h"

namespace acceltrace::analysis {
namespace {

// The window from the first fetch to the last completion, on the device's own clock if it had a
// single count, otherwise on the host's.
class Window {
 public:
  // A time in a row of a table.
  struct Time {
    const model::DeviceTimes* of = nullptr;
    size_t row = 0;
    uint64_t ticks = 0;
    uint32_t epoch = clock::kNoEpoch;

    bool Before(const Time& other) const { return static_cast<int64_t>(other.ticks - ticks) > 0; }
  };

  void See(const Time& from, const Time& to) {
    if (!any_) first_ = from, last_ = to;
    any_ = true;
    one_epoch_ = one_epoch_ && from.epoch == first_.epoch && to.epoch == first_.epoch &&
                 first_.epoch != clock::kNoEpoch;
    if (!one_epoch_) return;
    if (from.Before(first_)) first_ = from;
    if (last_.Before(to)) last_ = to;
  }
  void SeeOnHost(const model::Interval& from, const model::Interval& to) {
    if (!any_on_host_) begin_ = from, end_ = to;
    any_on_host_ = true;
    begin_ = {std::min(begin_.lo_ns, from.lo_ns), std::min(begin_.mid_ns, from.mid_ns),
              std::min(begin_.hi_ns, from.hi_ns)};
    end_ = {std::max(end_.lo_ns, to.lo_ns), std::max(end_.mid_ns, to.mid_ns),
            std::max(end_.hi_ns, to.hi_ns)};
  }
  bool any() const { return any_; }
  bool one_epoch() const { return one_epoch_; }
  Amount Length(const Durations& time) const {
    if (!one_epoch_) return ToAmount(Lapse(begin_, end_));
    return time.Elapsed(MarkOf(*first_.of, first_.row), MarkOf(*last_.of, last_.row));
  }

 private:
  bool any_ = false, one_epoch_ = true, any_on_host_ = false;
  Time first_, last_;
  model::Interval begin_, end_;
};

// Calls see(device, row, is_job) for each row that contributes to a window.
template <typename See>
void EachWay(const model::Model& model, See see) {
  const model::Jobs& jobs = model.jobs;
  Cursor<uint32_t> job_device(jobs.device);
  Cursor<uint8_t> on_device(jobs.on_device);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const uint32_t device = job_device[i];
    if (on_device[i] && device < model.devices.size()) see(device, i, true);
  }
  const model::Commands& commands = model.commands;
  Cursor<uint32_t> command_device(commands.device);
  for (size_t i = 0; i < commands.size(); ++i) see(command_device[i], i, false);
}

// Returns the window of each device. Host times are only read if a device's clock was set anew.
std::vector<Window> FindWindows(const model::Model& model) {
  std::vector<Window> windows(model.devices.size());
  const model::DeviceTimes &fetched = model.jobs.fetched, &completion = model.jobs.completion,
                           &began = model.commands.fetched, &end = model.commands.end;
  TickCursor from_jobs(fetched), to_jobs(completion), from_commands(began), to_commands(end);
  const auto time = [](const model::DeviceTimes& of, TickCursor* cursor, size_t row) {
    return Window::Time{&of, row, cursor->ticks[row], cursor->epoch[row]};
  };
  EachWay(model, [&](uint32_t device, size_t row, bool job) {
    if (job) {
      windows[device].See(time(fetched, &from_jobs, row), time(completion, &to_jobs, row));
    } else {
      windows[device].See(time(began, &from_commands, row), time(end, &to_commands, row));
    }
  });
  if (std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.one_epoch(); })) {
    return windows;
  }
  EachWay(model, [&](uint32_t device, size_t row, bool job) {
    windows[device].SeeOnHost(MarkOf(job ? fetched : began, row).host,
                              MarkOf(job ? completion : end, row).host);
  });
  return windows;
}

// Compares the counters of a unit with its commands.
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

  void Add(const PassedCommand& command) {
    if (!check_.available || !from_.Before(command.end) || !command.head.Before(to_)) return;
    // There is nothing to compare if the interval is unknown or not entirely in between.
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

// Sums up the commands of a unit.
class UnitTotal {
 public:
  UnitTotal(const model::Device& device, uint32_t device_row, uint32_t unit, const Durations* time)
      : counters_(device, unit), ran_(time), held_(time) {
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

  // Must be called in order of their starts.
  void Add(const PassedCommand& command) {
    const Mark &head = command.head, &start = command.start, &end = command.end;
    several_queues_ |= use_.commands > 0 && command.queue != queue_;
    queue_ = command.queue;
    ++use_.commands;
    use_.failed += command.status != 0;
    use_.work += command.work;
    const bool one_epoch = head.SameEpoch(end);
    const Rate &ran = command.ran_rate, &held = command.held_rate;
    const uint64_t busy_ticks = one_epoch ? command.busy_ticks.value_or(0) : 0;
    use_.busy_ticks += busy_ticks;
    if (command.limiter < use_.limiters.size()) ++use_.limiters[command.limiter];
    ran_.Add(start, end, ran);
    held_.Add(head, end, held);
    waited_ += command.ahead;
    tick_ += Durations::Of(1, 1, 1, ran);
    const double held_ticks = Ticks(head, end);
    use_.busy += Part(static_cast<double>(busy_ticks), held_ticks, ran, ran);
    // The clock was set anew meanwhile, so that the ticks without stalls are meaningless.
    if (!one_epoch) use_.busy.hi += command.ran.hi;
    // Use the rate from its head on: it may have changed until its start.
    const Amount none = Part(0, held_ticks, held, ran);
    for (size_t s = 0; s < use_.stall_ticks.size(); ++s) {
      const uint64_t ticks = command.stall_ticks[s];
      use_.stall_ticks[s] += ticks;
      use_.stalls[s] += ticks == 0 ? none : Part(static_cast<double>(ticks), held_ticks, held, ran);
    }
    counters_.Add(command);
  }

  UnitUse Finish(const Amount& window) {
    // If a unit waits for one queue between the commands of another, heads are not real instants.
    Amount held = held_.sum();
    if (held_.overlaps() > 0) {
      held = ran_.sum();
      held += waited_;
    }
    held = held.Within(window);
    const auto cut = [&](Amount* part) {
      if (several_queues_) {
        // Waits consist of pieces: as many as there are commands, of any queue.
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

  // `held` applies from where the part may begin, `ran` from where it is likely to begin.
  static Amount Part(double ticks, double held_ticks, const Rate& held, const Rate& ran) {
    Amount of =
        Durations::Of(ticks - kPartOverTicks, ticks,
                      std::min(ticks + kPartUnderTicks, std::max(held_ticks, ticks) + 1), held);
    of.mid = std::clamp(ticks * ran.mid, of.lo, std::max(of.lo, of.hi));
    return of;
  }

  UnitUse use_;
  CounterTotal counters_;
  UnitSum ran_, held_;
  Amount waited_, tick_;
  uint32_t queue_ = 0;
  bool several_queues_ = false;
};

class Sums : public UtilisationSum {
 public:
  explicit Sums(const CommandPass& pass) : pass_(pass), totals_(pass.model().devices.size()) {
    for (uint32_t d = 0; d < totals_.size(); ++d) {
      const model::Device& device = pass.model().devices[d];
      const auto units = static_cast<uint32_t>(device.about.units_size());
      for (uint32_t unit = 0; unit < units; ++unit) {
        totals_[d].emplace_back(device, d, unit, &pass.times()[d]);
      }
    }
  }

  void Add(const PassedCommand& command) override {
    totals_[command.device][command.unit].Add(command);
  }

  std::vector<DeviceUse> Finish() override {
    const std::vector<Window> windows = FindWindows(pass_.model());
    std::vector<DeviceUse> devices;
    for (uint32_t d = 0; d < totals_.size(); ++d) {
      if (!windows[d].any()) continue;
      DeviceUse use;
      use.device = d;
      use.window = windows[d].Length(pass_.times()[d]);
      for (UnitTotal& total : totals_[d]) {
        use.overlapping_commands += total.overlaps();
        use.units.push_back(total.Finish(use.window));
      }
      devices.push_back(std::move(use));
    }
    return devices;
  }

 private:
  const CommandPass& pass_;
  std::vector<std::vector<UnitTotal>> totals_;  // by device and unit
};

}  // namespace

std::unique_ptr<UtilisationSum> SumUtilisation(const CommandPass& pass) {
  return std::make_unique<Sums>(pass);
}

std::vector<DeviceUse> ComputeUtilisation(const model::Model& model) {
  const CommandPass pass(model);
  const std::unique_ptr<UtilisationSum> sum = SumUtilisation(pass);
  CommandSum* const sums[] = {sum.get()};
  pass.Run(sums);
  return sum->Finish();
}

}  // namespace acceltrace::analysis
