// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/utilisation.h"

#include <algorithm>
#include <numeric>

#include "libtrace/analysis/counters.h"

namespace acceltrace::analysis {
namespace {

bool Before(uint64_t a, uint64_t b) { return static_cast<int64_t>(b - a) > 0; }

// First and last tick at which the device had anything to do.
bool FindWindow(const model::Model& model, uint32_t device, uint64_t* begin, uint64_t* end) {
  bool any = false;
  const auto see = [&](uint64_t from, uint64_t to) {
    if (!any || Before(from, *begin)) *begin = from;
    if (!any || Before(*end, to)) *end = to;
    any = true;
  };
  for (size_t i = 0; i < model.jobs.size(); ++i) {
    if (model.jobs.device[i] == device && model.jobs.on_device[i]) {
      see(model.jobs.fetched.ticks[i], model.jobs.completion.ticks[i]);
    }
  }
  for (size_t i = 0; i < model.commands.size(); ++i) {
    if (model.commands.device[i] == device) {
      see(model.commands.fetched.ticks[i], model.commands.end.ticks[i]);
    }
  }
  return any;
}

void CheckCounters(const model::Model& model, const model::Device& device,
                   const std::vector<size_t>& rows, UnitUse* use) {
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
  const uint64_t from = samples.time.ticks[0], to = samples.time.ticks[last];
  for (size_t row : rows) {
    const uint64_t head = model.commands.head.ticks[row], end = model.commands.end.ticks[row];
    if (!Before(from, end) || !Before(head, to)) continue;
    if (Before(head, from) || Before(to, end)) {
      ++check.straddling;
      continue;
    }
    ++check.commands_seen;
    check.commands_busy_ticks += model.BusyTicks(row);
    for (size_t s = 0; s < check.commands_stall_ticks.size(); ++s) {
      check.commands_stall_ticks[s] += model.Stalls(row)[s];
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

UnitUse UseOfUnit(const model::Model& model, uint32_t device_row, uint32_t unit,
                  std::vector<size_t> rows, DeviceUse* device_use) {
  const model::Device& device = model.devices[device_row];
  const model::Commands& commands = model.commands;
  const proto::Unit& about = device.about.units(static_cast<int>(unit));
  UnitUse use;
  use.device = device_row;
  use.unit = unit;
  use.name = about.name();
  use.work_unit = about.work_unit();
  use.peak_work_per_s = about.peak_work_per_s();
  use.window_ticks = device_use->end_ticks - device_use->begin_ticks;
  use.stall_ticks.assign(static_cast<size_t>(device.about.stalls_size()), 0);
  use.limiters.assign(static_cast<size_t>(device.about.limiters_size()), 0);
  std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    return Before(commands.head.ticks[a], commands.head.ticks[b]);
  });
  uint64_t held = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = rows[i];
    ++use.commands;
    use.failed += commands.status[row] != 0;
    use.work += commands.work[row];
    use.busy_ticks += model.BusyTicks(row);
    for (size_t s = 0; s < use.stall_ticks.size(); ++s) {
      use.stall_ticks[s] += model.Stalls(row)[s];
    }
    if (commands.limiter[row] < use.limiters.size()) ++use.limiters[commands.limiter[row]];
    held += commands.end.ticks[row] - commands.head.ticks[row];
    if (i > 0 && Before(commands.head.ticks[row], commands.end.ticks[rows[i - 1]])) {
      ++device_use->overlapping_commands;
    }
  }
  use.idle_ticks = use.window_ticks > held ? use.window_ticks - held : 0;
  const auto span = [&](uint64_t ticks) {
    return OnDevice(device, device_use->begin_ticks, device_use->begin_ticks + ticks);
  };
  use.busy = span(use.busy_ticks);
  use.idle = span(use.idle_ticks);
  for (uint64_t ticks : use.stall_ticks) use.stalls.push_back(span(ticks));
  CheckCounters(model, device, rows, &use);
  return use;
}

}  // namespace

uint64_t UnitUse::StalledTicks() const {
  return std::accumulate(stall_ticks.begin(), stall_ticks.end(), uint64_t{0});
}

std::vector<DeviceUse> ComputeUtilisation(const model::Model& model) {
  std::vector<DeviceUse> devices;
  std::vector<std::vector<std::vector<size_t>>> rows(model.devices.size());
  for (size_t d = 0; d < model.devices.size(); ++d) {
    rows[d].resize(static_cast<size_t>(model.devices[d].about.units_size()));
  }
  for (size_t i = 0; i < model.commands.size(); ++i) {
    rows[model.commands.device[i]][model.commands.unit[i]].push_back(i);
  }
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    DeviceUse use;
    use.device = d;
    if (!FindWindow(model, d, &use.begin_ticks, &use.end_ticks)) continue;
    use.window = OnDevice(model.devices[d], use.begin_ticks, use.end_ticks);
    for (uint32_t unit = 0; unit < rows[d].size(); ++unit) {
      use.units.push_back(UseOfUnit(model, d, unit, std::move(rows[d][unit]), &use));
    }
    devices.push_back(std::move(use));
  }
  return devices;
}

}  // namespace acceltrace::analysis
