// SPDX-License-Identifier: Apache-2.0
//
// How efficiently was device memory used?
//
// For each unit, its commands give the bytes moved in whole bursts, and the share of bursts that
// found their row open, which is the locality of the accesses. For the device, counters between the
// first and the last snapshot are used: useful bytes are those that commands asked for, so useful
// over moved bytes is the efficiency of the access pattern (never above 1). The counters are named
// dram_read_bytes, dram_write_bytes, dram_useful_bytes, dram_row_hits, dram_row_misses and
// dram_row_conflicts.
#ifndef LIBTRACE_ANALYSIS_USAGE_MEMORY_H_
#define LIBTRACE_ANALYSIS_USAGE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/span.h"
#include "libtrace/analysis/usage/utilisation.h"

namespace acceltrace::analysis {

struct MemoryUse {
  std::string name;  // name of the unit
  uint64_t moved_bytes = 0;
  uint64_t row_hits = 0, row_misses = 0;  // misses include conflicts
  Amount time;                            // sum of start to end of commands that accessed memory
  Ratio bytes_per_s;                      // bytes moved during `time`
  Ratio of_peak;                          // all 0 if the peak is not known

  double HitRate() const;
};

struct MemoryCounters {
  bool available = false;
  uint64_t read_bytes = 0, write_bytes = 0, useful_bytes = 0;
  uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0;
  double Efficiency() const;  // useful bytes over moved bytes
  double HitRate() const;
};

struct DeviceMemory {
  uint32_t device = 0;
  uint64_t peak_bytes_per_s = 0;
  MemoryUse all;  // its `time` is the device's window
  MemoryCounters counters;
  std::vector<MemoryUse> units;
};

// `utilisation` is the result of ComputeUtilisation().
std::vector<DeviceMemory> ComputeMemory(const model::Model& model,
                                        const std::vector<DeviceUse>& utilisation);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_MEMORY_H_
