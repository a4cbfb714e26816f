// SPDX-License-Identifier: Apache-2.0
//
// What else did the host do? Interrupts, counters of the system, control groups.
#ifndef LIBTRACE_ANALYSIS_USAGE_SYSTEM_H_
#define LIBTRACE_ANALYSIS_USAGE_SYSTEM_H_

#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/listed.h"
#include "libtrace/analysis/rows/thread_states.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// The interrupts with one number, summed over all CPUs.
struct InterruptUse {
  uint32_t kind = 0, number = 0;  // proto::InterruptBatch::Kind
  uint32_t name = 0;              // string id
  uint32_t device = model::kNoRow;
  uint64_t count = 0, total_ns = 0, longest_ns = 0;
  uint64_t hits = 0, hit_ns = 0;  // those that interrupted recorded threads
  uint32_t cpus = 0;
};

struct SystemCounterUse {
  uint32_t counter = 0;  // index in SystemTables::counters
  uint64_t samples = 0;
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t first = 0, last = 0, least = 0, most = 0;
  // For a total, the growth since the first sample. If it was reset meanwhile, this includes the
  // growth before that.
  uint64_t grown = 0;
};

// The work that the processes of a control group had devices do.
struct GroupUse {
  uint32_t group = 0;  // string id, 0 = not known
  uint64_t processes = 0, jobs = 0, commands = 0;
  double device_ns = 0;  // sum of start to end of commands
};

struct SystemUse {
  Listed<ThreadUse> threads;
  Listed<InterruptUse> interrupts;         // by time taken from recorded threads, then by total
  std::vector<SystemCounterUse> counters;  // sorted by id; only those with samples
  Listed<GroupUse> groups;                 // sorted by device time
  double groups_device_ns = 0;             // of all groups
};
SystemUse ComputeSystem(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_SYSTEM_H_
