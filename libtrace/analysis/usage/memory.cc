// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/memory.h"

#include "libtrace/analysis/rows/counters.h"
#include "libtrace/analysis/rows/durations.h"

namespace acceltrace::analysis {
namespace {

double PartOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

MemoryCounters CountersOf(const model::Device& device) {
  MemoryCounters counters;
  if (device.counters.size() < 2) return counters;
  const size_t last = device.counters.size() - 1;
  counters.available = true;
  const auto read = [&](const char* name, uint64_t* to) {
    const auto grown = Grown(device.counters, FindCounter(device, name), 0, last);
    if (!grown) counters.available = false;
    *to = grown.value_or(0);
  };
  read("dram_read_bytes", &counters.read_bytes);
  read("dram_write_bytes", &counters.write_bytes);
  read("dram_useful_bytes", &counters.useful_bytes);
  read("dram_row_hits", &counters.row_hits);
  read("dram_row_misses", &counters.row_misses);
  read("dram_row_conflicts", &counters.row_conflicts);
  return counters;
}

}  // namespace

double MemoryCounters::Efficiency() const { return PartOf(useful_bytes, read_bytes + write_bytes); }
double MemoryCounters::HitRate() const {
  return PartOf(row_hits, row_hits + row_misses + row_conflicts);
}
double MemoryUse::HitRate() const { return PartOf(row_hits, row_hits + row_misses); }

std::vector<DeviceMemory> ComputeMemory(const model::Model& model,
                                        const std::vector<DeviceUse>& utilisation) {
  std::vector<DeviceMemory> devices(model.devices.size());
  for (uint32_t d = 0; d < devices.size(); ++d) {
    devices[d].device = d;
    devices[d].peak_bytes_per_s = model.devices[d].about.memory_bytes_per_s();
    devices[d].all.name = "all";
    devices[d].counters = CountersOf(model.devices[d]);
    for (const proto::Unit& unit : model.devices[d].about.units()) {
      devices[d].units.emplace_back().name = unit.name();
    }
  }
  std::vector<Durations> times(model.devices.begin(), model.devices.end());
  std::vector<std::vector<UnitSum>> sums(devices.size());
  for (uint32_t d = 0; d < devices.size(); ++d)
    sums[d].resize(devices[d].units.size(), UnitSum(&times[d]));
  const model::Commands& commands = model.commands;
  for (const uint32_t i : RowsByStart(model)) {
    if (commands.memory_bytes[i] == 0) continue;
    DeviceMemory& device = devices[commands.device[i]];
    for (MemoryUse* use : {&device.all, &device.units[commands.unit[i]]}) {
      use->moved_bytes += commands.memory_bytes[i];
      use->row_hits += commands.row_hits[i];
      use->row_misses += commands.row_misses[i];
    }
    sums[commands.device[i]][commands.unit[i]].Add(MarkOf(commands.start, i),
                                                   MarkOf(commands.end, i));
  }
  for (const DeviceUse& use : utilisation) devices[use.device].all.time = use.window;
  for (uint32_t d = 0; d < devices.size(); ++d) {
    const auto finish = [&](MemoryUse* use) {
      use->bytes_per_s = PerSecond(static_cast<double>(use->moved_bytes), use->time);
      use->of_peak = OfPeak(use->bytes_per_s, static_cast<double>(devices[d].peak_bytes_per_s));
    };
    for (size_t unit = 0; unit < sums[d].size(); ++unit) {
      devices[d].units[unit].time = sums[d][unit].sum();
      finish(&devices[d].units[unit]);
    }
    finish(&devices[d].all);
  }
  return devices;
}

}  // namespace acceltrace::analysis
