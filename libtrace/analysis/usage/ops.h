// SPDX-License-Identifier: Apache-2.0
//
// Which ops took the time?
//
// An op is identified by the name that the runtime gave to a command's tag, or by the opcode's
// name.
#ifndef LIBTRACE_ANALYSIS_USAGE_OPS_H_
#define LIBTRACE_ANALYSIS_USAGE_OPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/command_pass.h"
#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

struct OpUse {
  std::string name, unit;
  uint32_t device = 0;
  uint64_t count = 0, failed = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;  // sum of start to end
  Span longest;
  Amount held;          // sum of head to end, which includes waiting at the head of the queue
  Ratio busy_share;     // of held: without stalls and waits
  std::string limiter;  // what limited most of held
  Amount limiter_time;  // of held
  Ratio share;          // of the time of all commands of its device
  Ratio work_per_s;     // while it ran, from start to end, including stalls
  Ratio peak_share;     // work_per_s relative to the unit's peak; all 0 = not known
};

// Sorted by time, the longest first.
struct Ops {
  std::vector<OpUse> by_name;
  std::vector<OpUse> by_group;  // names that only differ in a running number are merged (names.h)
};
Ops ComputeOps(const model::Model& model);
// Computes only by_name, at half the cost.
std::vector<OpUse> ComputeOpsByName(const model::Model& model);
// Computes the same in a shared pass. `groups` selects whether by_group is computed, too.
class OpsSum : public CommandSum {
 public:
  virtual Ops Finish() = 0;
};
std::unique_ptr<OpsSum> SumOps(const CommandPass& pass, bool groups);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_OPS_H_
