// SPDX-License-Identifier: Apache-2.0
//
// Finds a device's counters by their role.
//
// The role follows from the name: <unit>_busy, <unit>_idle, <unit>_commands, <unit>_stall_<cause>
// and <unit>_bytes, with the names of Device.units and Device.stalls, and elapsed_ticks.
// docs/analysis.md lists them; new kinds of devices must use the same names.
#ifndef LIBTRACE_ANALYSIS_ROWS_COUNTERS_H_
#define LIBTRACE_ANALYSIS_ROWS_COUNTERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// Returns the index of the counter with this name.
std::optional<size_t> FindCounter(const model::Device& device, std::string_view name);

struct UnitCounters {
  std::optional<size_t> busy, idle, commands;
  std::vector<std::optional<size_t>> stalls;  // by the device's stall causes
};
UnitCounters FindUnitCounters(const model::Device& device, uint32_t unit);

// Returns by how much a counter grew between two snapshots (rows), or nullopt if either lacks it.
std::optional<uint64_t> Grown(const model::CounterSamples& samples, std::optional<size_t> counter,
                              size_t from, size_t to);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_COUNTERS_H_
