// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/counters.h"

namespace acceltrace::analysis {

std::optional<size_t> FindCounter(const model::Device& device, std::string_view name) {
  const auto found = device.counter_rows.find(name);
  if (found == device.counter_rows.end()) return std::nullopt;
  return found->second;
}

UnitCounters FindUnitCounters(const model::Device& device, uint32_t unit) {
  const std::string prefix = device.UnitName(unit) + "_";
  UnitCounters found;
  found.busy = FindCounter(device, prefix + "busy");
  found.idle = FindCounter(device, prefix + "idle");
  found.commands = FindCounter(device, prefix + "commands");
  for (const std::string& stall : device.about.stalls()) {
    found.stalls.push_back(FindCounter(device, prefix + "stall_" + stall));
  }
  return found;
}

std::optional<uint64_t> Grown(const model::CounterSamples& samples, std::optional<size_t> counter,
                              size_t from, size_t to) {
  if (!counter || *counter >= samples.num_counters || !samples.Has(from, *counter) ||
      !samples.Has(to, *counter)) {
    return std::nullopt;
  }
  // Counters only increase; a reset in between results in a wrapped difference.
  return samples.At(to, *counter) - samples.At(from, *counter);
}

}  // namespace acceltrace::analysis
