// SPDX-License-Identifier: Apache-2.0
//
// Which ops and which ranges took the time? Room: libtrace/analysis.
//
// An op is what the runtime called a command's tag, or the opcode's name. A
// range owns the commands of the API calls that its thread began inside it;
// nested ranges each own them, so that ranges of one depth can be compared.
#ifndef LIBTRACE_ANALYSIS_OPS_H_
#define LIBTRACE_ANALYSIS_OPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

struct OpUse {
  std::string name, unit;
  uint32_t device = 0;
  uint64_t count = 0, failed = 0, work = 0, bytes = 0, memory_bytes = 0;
  Span time;  // sum of start to end
  Span longest;
  uint64_t busy_ticks = 0, held_ticks = 0;  // of head to end
  std::string limiter;                      // the most frequent one
  double share = 0;                         // of the command time of its device
  double work_per_s = 0;                    // while it ran
  double peak_share = 0;                    // work_per_s of the unit's peak, 0 = unknown
};

struct RangeUse {
  std::string name;
  uint32_t depth = 0;
  uint64_t count = 0;
  int64_t host_ns = 0;  // sum of durations
  int64_t longest_ns = 0;
  uint64_t jobs = 0, commands = 0;
  Span device;  // sum of start to end of its commands
};

// By time, the longest first. fold: names that differ in a running number only
// are one (names.h).
std::vector<OpUse> ComputeOps(const model::Model& model, bool fold);
// By depth, then by host time, the longest first.
std::vector<RangeUse> ComputeRanges(const model::Model& model, bool fold);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_OPS_H_
