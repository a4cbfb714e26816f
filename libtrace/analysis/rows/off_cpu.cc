// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/off_cpu.h"

#include <algorithm>

#include "libtrace/analysis/rows/thread_states.h"

namespace acceltrace::analysis {

OffCpu::OffCpu(const model::ThreadRuns& runs) {
  for (const ThreadRows rows : RowsByThread(runs)) {
    auto& kinds = threads_[runs.tid[rows.first]];
    for (const ThreadInterval& interval : ThreadIntervals(runs, rows.first, rows.last)) {
      since_ns_.try_emplace(runs.tid[rows.first], interval.begin_ns);
      if (interval.state == ThreadState::kRunning || interval.state == ThreadState::kUnknown) {
        continue;
      }
      std::vector<Stretch>& all =
          kinds[interval.state == ThreadState::kRunnable ? kWaiting : kAsleep];
      // If two threads had the same number, intervals that are out of order are ignored.
      if (!all.empty() && interval.begin_ns < all.back().end_ns) continue;
      const int64_t before_ns =
          all.empty() ? 0 : all.back().before_ns + all.back().end_ns - all.back().begin_ns;
      const bool by_thread = interval.run != model::kNoRow && runs.waker_irq[interval.run] == 0;
      all.push_back({interval.begin_ns, interval.end_ns, before_ns,
                     by_thread ? runs.waker_tid[interval.run] : 0});
    }
  }
}

const std::vector<OffCpu::Stretch>* OffCpu::Of(Kind kind, uint32_t tid) const {
  const auto thread = threads_.find(tid);
  return thread == threads_.end() ? nullptr : &thread->second[kind];
}

int64_t OffCpu::Between(Kind kind, uint32_t tid, int64_t from_ns, int64_t to_ns) const {
  const std::vector<Stretch>* const known = Of(kind, tid);
  if (known == nullptr || from_ns >= to_ns) return 0;
  const std::vector<Stretch>& stretches = *known;
  const auto until = [&](int64_t at_ns) -> int64_t {
    const auto next = std::partition_point(stretches.begin(), stretches.end(),
                                           [&](const Stretch& s) { return s.begin_ns < at_ns; });
    if (next == stretches.begin()) return 0;
    const Stretch& last = *std::prev(next);
    return last.before_ns + std::min(at_ns, last.end_ns) - last.begin_ns;
  };
  return until(to_ns) - until(from_ns);
}

void CommonSleep::AddThread(const Period& alive) {
  alive_ = alive;
  changes_.push_back({alive.begin_ns, 1, 0});
  changes_.push_back({alive.end_ns, -1, 0});
}

void CommonSleep::AddSleep(Period asleep) {
  asleep.begin_ns = std::max(asleep.begin_ns, alive_.begin_ns);
  asleep.end_ns = std::min(asleep.end_ns, alive_.end_ns);
  if (asleep.end_ns <= asleep.begin_ns) return;
  changes_.push_back({asleep.begin_ns, 0, 1});
  changes_.push_back({asleep.end_ns, 0, -1});
}

std::vector<Period> CommonSleep::Take() {
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  std::vector<Period> periods;
  int alive = 0, asleep = 0;
  for (size_t i = 0; i + 1 < changes_.size(); ++i) {
    alive += changes_[i].alive, asleep += changes_[i].asleep;
    const int64_t from_ns = changes_[i].at_ns, to_ns = changes_[i + 1].at_ns;
    if (alive == 0 || asleep < alive || from_ns == to_ns) continue;
    periods.push_back({from_ns, to_ns});
  }
  changes_.clear();
  return periods;
}

}  // namespace acceltrace::analysis
