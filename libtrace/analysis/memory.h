// SPDX-License-Identifier: Apache-2.0
//
// What did device memory do for its bytes?
//
// By unit, from its commands: bytes moved in whole bursts, and the share of
// bursts that found their row open, which is the locality of the accesses. For
// the device, from its counters between the first and the last snapshot: useful
// bytes are those that commands asked for, so that useful over moved is the
// efficiency of the access pattern (above 1 never). Counters by these names:
// dram_read_bytes, dram_write_bytes, dram_useful_bytes, dram_row_hits,
// dram_row_misses, dram_row_conflicts.
#ifndef LIBTRACE_ANALYSIS_MEMORY_H_
#define LIBTRACE_ANALYSIS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/span.h"
#include "libtrace/analysis/utilisation.h"

namespace acceltrace::analysis {

struct MemoryUse {
  std::string name;  // unit
  uint64_t moved_bytes = 0;
  uint64_t row_hits = 0, row_misses = 0;  // misses include conflicts
  Amount time;                            // sum of start to end of the commands that touched memory
  Ratio bytes_per_s;                      // moved, during time
  Ratio of_peak;                          // all 0: the peak is not known

  double HitRate() const;
};

struct MemoryCounters {
  bool available = false;
  uint64_t read_bytes = 0, write_bytes = 0, useful_bytes = 0;
  uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0;
  double Efficiency() const;  // useful of moved
  double HitRate() const;
};

struct DeviceMemory {
  uint32_t device = 0;
  uint64_t peak_bytes_per_s = 0;
  MemoryUse all;  // time: the device's window
  MemoryCounters counters;
  std::vector<MemoryUse> units;
};

// utilisation: ComputeUtilisation()'s.
std::vector<DeviceMemory> ComputeMemory(const model::Model& model,
                                        const std::vector<DeviceUse>& utilisation);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_MEMORY_H_
