// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/off_cpu.h"

#include <algorithm>

#include "libtrace/analysis/thread_states.h"

namespace acceltrace::analysis {

OffCpu::OffCpu(const model::ThreadRuns& runs) {
  for (const ThreadRows rows : RowsByThread(runs)) {
    std::vector<Stretch>& stretches = threads_[runs.tid[rows.first]];
    for (const ThreadInterval& interval : ThreadIntervals(runs, rows.first, rows.last)) {
      const bool off = interval.state == ThreadState::kSleeping ||
                       interval.state == ThreadState::kBlocked ||
                       interval.state == ThreadState::kStopped;
      if (!off) continue;
      // A number that two threads had: what is not in order of time is left out.
      if (!stretches.empty() && interval.begin_ns < stretches.back().end_ns) continue;
      const int64_t before_ns =
          stretches.empty()
              ? 0
              : stretches.back().before_ns + stretches.back().end_ns - stretches.back().begin_ns;
      stretches.push_back({interval.begin_ns, interval.end_ns, before_ns});
    }
  }
}

int64_t OffCpu::Between(uint32_t tid, int64_t from_ns, int64_t to_ns) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end() || from_ns >= to_ns) return 0;
  const std::vector<Stretch>& stretches = thread->second;
  const auto until = [&](int64_t at_ns) -> int64_t {
    const auto next = std::partition_point(stretches.begin(), stretches.end(),
                                           [&](const Stretch& s) { return s.begin_ns < at_ns; });
    if (next == stretches.begin()) return 0;
    const Stretch& last = *std::prev(next);
    return last.before_ns + std::min(at_ns, last.end_ns) - last.begin_ns;
  };
  return until(to_ns) - until(from_ns);
}

}  // namespace acceltrace::analysis
