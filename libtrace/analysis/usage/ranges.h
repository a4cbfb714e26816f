// SPDX-License-Identifier: Apache-2.0
//
// Which ranges took the time?
//
// A range owns the work of the API calls that its thread began inside it. Nested ranges own it as
// well, so that the ranges within one parent can be compared. Ranges nest within a thread, in
// program order: each thread has a tree, and ranges in the same place of these trees, by their
// names, are merged.
#ifndef LIBTRACE_ANALYSIS_USAGE_RANGES_H_
#define LIBTRACE_ANALYSIS_USAGE_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

// What a range's jobs did on one unit.
struct UnitWork {
  uint32_t device = 0, unit = 0;
  uint64_t commands = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;  // sum of start to end

  UnitWork& operator+=(const UnitWork& other);
};

// The ranges of one name within parents of the same names.
struct RangeUse {
  std::string name;
  uint32_t parent = model::kNoRow;  // index in the list; kNoRow = none
  uint32_t depth = 0;               // number of ranges around it
  uint64_t count = 0;
  int64_t host_ns = 0;  // sum of durations
  int64_t longest_ns = 0;
  uint64_t jobs = 0, commands = 0;
  Amount device;                // sum of start to end of its commands
  std::vector<UnitWork> units;  // sorted by device and unit; only units with commands
};

// Returns a tree in which each range is followed by its children; siblings are sorted by host time,
// the longest first. `fold` merges names that only differ in a running number (names.h). *part_of
// has the index in the list for each row of the model's ranges, or kNoRow for a mark.
std::vector<RangeUse> ComputeRanges(const model::Model& model, bool fold,
                                    std::vector<uint32_t>* part_of = nullptr);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_RANGES_H_
