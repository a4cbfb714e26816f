// SPDX-License-Identifier: Apache-2.0
//
// Which ops took the time?
//
// An op is what the runtime called a command's tag, or the opcode's name.
#ifndef LIBTRACE_ANALYSIS_OPS_H_
#define LIBTRACE_ANALYSIS_OPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/command_pass.h"
#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

struct OpUse {
  std::string name, unit;
  uint32_t device = 0;
  uint64_t count = 0, failed = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;  // sum of start to end
  Span longest;
  Amount held;          // sum of head to end: what it waited for at the head of its queue as well
  Ratio busy_share;     // of held: neither a stall nor a wait
  std::string limiter;  // what set the pace of most of held
  Amount limiter_time;  // of held
  Ratio share;          // of the command time of its device
  Ratio work_per_s;     // while it ran, start to end: stalls are in it
  Ratio peak_share;     // work_per_s of the unit's peak; all 0 = unknown
};

// By time, the longest first.
struct Ops {
  std::vector<OpUse> by_name;
  std::vector<OpUse> by_group;  // names that differ in a running number only are one (names.h)
};
Ops ComputeOps(const model::Model& model);
// by_name alone, at half the cost.
std::vector<OpUse> ComputeOpsByName(const model::Model& model);
// The same in a pass that others share. groups: by_group as well.
class OpsSum : public CommandSum {
 public:
  virtual Ops Finish() = 0;
};
std::unique_ptr<OpsSum> SumOps(const CommandPass& pass, bool groups);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_OPS_H_
