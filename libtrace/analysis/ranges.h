// SPDX-License-Identifier: Apache-2.0
//
// Which ranges took the time?
//
// A range owns the work of the API calls that its thread began inside it; nested
// ranges each own it, so that ranges of one parent can be compared. Ranges nest by
// thread, in the order of the program: each thread has a tree, and what lies at the
// same place of these trees, by names, is one.
#ifndef LIBTRACE_ANALYSIS_RANGES_H_
#define LIBTRACE_ANALYSIS_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

// What a range's jobs did on one unit.
struct UnitWork {
  uint32_t device = 0, unit = 0;
  uint64_t commands = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;  // sum of start to end

  UnitWork& operator+=(const UnitWork& other);
};

// Ranges of one name at one place: within ranges of the same names.
struct RangeUse {
  std::string name;
  uint32_t parent = model::kNoRow;  // position in the list; kNoRow = none
  uint32_t depth = 0;               // how many ranges it lies in
  uint64_t count = 0;
  int64_t host_ns = 0;  // sum of durations
  int64_t longest_ns = 0;
  uint64_t jobs = 0, commands = 0;
  Amount device;                // sum of start to end of its commands
  std::vector<UnitWork> units;  // by device and unit; none without a command
};

// A tree: each range right before those that lie in it, siblings by host time, the longest
// first. fold: names that differ in a running number only are one (names.h).
// part_of: by row of the model's ranges, its place in the list; kNoRow: a mark.
std::vector<RangeUse> ComputeRanges(const model::Model& model, bool fold,
                                    std::vector<uint32_t>* part_of = nullptr);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_RANGES_H_
