// SPDX-License-Identifier: Apache-2.0
//
// What did threads do with their time? Converts rows of ThreadRuns to states without gaps, as the
// kernel's scheduler saw them.
#ifndef LIBTRACE_ANALYSIS_ROWS_THREAD_STATES_H_
#define LIBTRACE_ANALYSIS_ROWS_THREAD_STATES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/listed.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

enum class ThreadState : uint8_t {
  kUnknown,   // rows were lost
  kRunnable,  // waits for a CPU
  kSleeping,
  kBlocked,
  kStopped,
  kRunning,
};
inline constexpr size_t kNumThreadStates = 6;
// running, runnable, ...
const char* ThreadStateName(ThreadState state);

struct ThreadInterval {
  int64_t begin_ns = 0, end_ns = 0;
  ThreadState state = ThreadState::kUnknown;
  uint32_t run = model::kNoRow;  // the row of ThreadRuns it is from; for kUnknown, the next one
};

// Converts rows [first, last) of one thread, sorted by their end. A missing row results in
// kUnknown, never in another state; if rows contradict each other, the later one is cut where the
// earlier one ends.
std::vector<ThreadInterval> ThreadIntervals(const model::ThreadRuns& runs, uint32_t first,
                                            uint32_t last);

// The rows of each thread, sorted by (pid, tid).
struct ThreadRows {
  uint32_t first = 0, last = 0;
};
std::vector<ThreadRows> RowsByThread(const model::ThreadRuns& runs);

// What a thread waited in or who woke it, summed up.
struct WaitUse {
  uint32_t name = 0;  // string id of the kernel function, 0 = not known
  ThreadState state = ThreadState::kSleeping;
  uint64_t count = 0;
  int64_t total_ns = 0, longest_ns = 0;
};
struct WakerUse {
  uint32_t pid = 0, tid = 0;
  bool interrupt = false;
  uint64_t count = 0;
};

struct ThreadUse {
  uint32_t pid = 0, tid = 0;
  int64_t begin_ns = 0, end_ns = 0;
  std::array<int64_t, kNumThreadStates> ns = {};  // by state
  uint64_t runs = 0;
  int64_t longest_runnable_ns = 0, longest_runnable_at_ns = 0;
  uint64_t cpus = 0;  // number of CPUs that it ran on
  // According to the kernel's own counters.
  uint64_t charged_ns = 0, minor_faults = 0, major_faults = 0, migrations = 0;
  uint64_t voluntary = 0, involuntary = 0;
  std::vector<WaitUse> waits;    // sorted by time, the longest first
  std::vector<WakerUse> wakers;  // sorted by count, the most frequent first

  int64_t Ns(ThreadState state) const { return ns[static_cast<size_t>(state)]; }
  int64_t KnownNs() const { return end_ns - begin_ns - Ns(ThreadState::kUnknown); }
};

// Sorted by time on CPUs, the longest first.
Listed<ThreadUse> ComputeThreadUse(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_THREAD_STATES_H_
