// SPDX-License-Identifier: Apache-2.0
//
// What did device memory do for its bytes? Room: libtrace/analysis.
//
// useful = bytes that commands asked for; moved = bytes in whole bursts. Their
// quotient is the efficiency of the access pattern; row hits over all bursts is
// the locality. Bandwidth is over the time in which the unit's commands ran.
#ifndef LIBTRACE_ANALYSIS_MEMORY_H_
#define LIBTRACE_ANALYSIS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

struct MemoryUse {
  std::string name;  // unit
  uint64_t useful_bytes = 0, moved_bytes = 0;
  uint64_t row_hits = 0, row_misses = 0;
  Span time;  // sum of start to end of the commands that touched memory

  double Efficiency() const;  // useful / moved
  double HitRate() const;
  double BytesPerSecond() const;  // moved, while its commands ran
};

struct DeviceMemory {
  uint32_t device = 0;
  uint64_t peak_bytes_per_s = 0;
  MemoryUse all;  // time: the device's window
  std::vector<MemoryUse> units;
};

std::vector<DeviceMemory> ComputeMemory(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_MEMORY_H_
