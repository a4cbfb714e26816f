// SPDX-License-Identifier: Apache-2.0
//
// Finding a device's counters by the part they play.
//
// A counter plays a part by its name: <unit>_busy, <unit>_idle, <unit>_commands,
// <unit>_stall_<cause>, <unit>_bytes, with the names of Device.units and
// Device.stalls; and elapsed_ticks. docs/analysis.md lists them: a new kind of
// device uses the same ones.
#ifndef LIBTRACE_ANALYSIS_COUNTERS_H_
#define LIBTRACE_ANALYSIS_COUNTERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// The index of a counter by name.
std::optional<size_t> FindCounter(const model::Device& device, std::string_view name);

struct UnitCounters {
  std::optional<size_t> busy, idle, commands;
  std::vector<std::optional<size_t>> stalls;  // by the device's causes
};
UnitCounters FindUnitCounters(const model::Device& device, uint32_t unit);

// What a counter grew by between two snapshots (rows); none if either lacks it.
std::optional<uint64_t> Grown(const model::CounterSamples& samples, std::optional<size_t> counter,
                              size_t from, size_t to);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_COUNTERS_H_
