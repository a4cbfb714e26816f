// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/thread_states.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace acceltrace::analysis {
namespace {

using Row = proto::ThreadRunBatch;
using model::ThreadRuns;

ThreadState StateOf(uint32_t state) {
  switch (state) {
    case Row::STATE_RUNNABLE:
      return ThreadState::kRunnable;
    case Row::STATE_SLEEPING:
      return ThreadState::kSleeping;
    case Row::STATE_BLOCKED:
      return ThreadState::kBlocked;
    case Row::STATE_STOPPED:
      return ThreadState::kStopped;
    case Row::STATE_RUNNING:
      return ThreadState::kRunning;
    default:
      return ThreadState::kUnknown;
  }
}

// The state of a thread when a snapshot was taken. If it continued, a later row repeats it and has
// more.
bool IsOpen(const ThreadRuns& runs, uint32_t row) {
  return runs.left[row] == Row::STATE_RUNNING || runs.begin_ns[row] == runs.end_ns[row];
}

// Cuts intervals where the previous one ends.
class Intervals {
 public:
  void Add(int64_t begin_ns, int64_t end_ns, ThreadState state, uint32_t run) {
    if (!all_.empty()) begin_ns = std::max(begin_ns, all_.back().end_ns);
    if (begin_ns < end_ns) all_.push_back({begin_ns, end_ns, state, run});
  }
  bool empty() const { return all_.empty(); }
  int64_t end_ns() const { return all_.back().end_ns; }
  std::vector<ThreadInterval> Done() { return std::move(all_); }

 private:
  std::vector<ThreadInterval> all_;
};

template <typename T>
std::vector<T> MostFirst(std::vector<T> uses, int64_t (*worth)(const T&)) {
  std::stable_sort(uses.begin(), uses.end(),
                   [worth](const T& a, const T& b) { return worth(a) > worth(b); });
  return uses;
}

class Summing {
 public:
  explicit Summing(const ThreadRuns& runs) : runs_(runs) {}

  ThreadUse Sum(ThreadRows rows) {
    ThreadUse use;
    use.pid = runs_.pid[rows.first];
    use.tid = runs_.tid[rows.first];
    const std::vector<ThreadInterval> intervals = ThreadIntervals(runs_, rows.first, rows.last);
    if (!intervals.empty()) {
      use.begin_ns = intervals.front().begin_ns;
      use.end_ns = intervals.back().end_ns;
    }
    for (const ThreadInterval& interval : intervals) AddInterval(interval, &use);
    std::set<uint32_t> cpus;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      AddCounts(row, &use);
      if (runs_.end_ns[row] > runs_.begin_ns[row]) cpus.insert(runs_.cpu[row]);
    }
    use.cpus = cpus.size();
    std::vector<WaitUse> waits;
    for (const auto& [key, wait] : waits_) waits.push_back(wait);
    use.waits = MostFirst<WaitUse>(std::move(waits), [](const auto& w) { return w.total_ns; });
    std::vector<WakerUse> wakers;
    for (const auto& [key, waker] : wakers_) wakers.push_back(waker);
    use.wakers = MostFirst<WakerUse>(std::move(wakers),
                                     [](const auto& w) { return static_cast<int64_t>(w.count); });
    return use;
  }

 private:
  void AddInterval(const ThreadInterval& interval, ThreadUse* use) {
    const int64_t ns = interval.end_ns - interval.begin_ns;
    use->ns[static_cast<size_t>(interval.state)] += ns;
    switch (interval.state) {
      case ThreadState::kRunning:
        ++use->runs;
        break;
      case ThreadState::kRunnable:
        if (ns > use->longest_runnable_ns) {
          use->longest_runnable_ns = ns;
          use->longest_runnable_at_ns = interval.begin_ns;
        }
        break;
      case ThreadState::kSleeping:
      case ThreadState::kBlocked: {
        WaitUse& wait = waits_[{runs_.wait[interval.run], interval.state}];
        wait.name = runs_.wait[interval.run];
        wait.state = interval.state;
        ++wait.count;
        wait.total_ns += ns;
        wait.longest_ns = std::max(wait.longest_ns, ns);
        break;
      }
      default:
        break;
    }
  }

  void AddCounts(uint32_t row, ThreadUse* use) {
    use->charged_ns += runs_.charged_ns[row];
    use->minor_faults += runs_.minor_faults[row];
    use->major_faults += runs_.major_faults[row];
    use->migrations += runs_.migrations[row];
    use->voluntary += runs_.voluntary[row];
    use->involuntary += runs_.involuntary[row];
    const bool interrupt = runs_.waker_irq[row] != 0;
    if (runs_.waker_tid[row] == 0 && !interrupt) return;
    const auto key = interrupt ? std::make_tuple(true, 0u, 0u)
                               : std::make_tuple(false, uint32_t{runs_.waker_pid[row]},
                                                 uint32_t{runs_.waker_tid[row]});
    WakerUse& waker = wakers_[key];
    std::tie(waker.interrupt, waker.pid, waker.tid) = key;
    ++waker.count;
  }

  const ThreadRuns& runs_;
  std::map<std::pair<uint32_t, ThreadState>, WaitUse> waits_;
  std::map<std::tuple<bool, uint32_t, uint32_t>, WakerUse> wakers_;
};

}  // namespace

const char* ThreadStateName(ThreadState state) {
  switch (state) {
    case ThreadState::kRunnable:
      return "runnable";
    case ThreadState::kSleeping:
      return "sleeping";
    case ThreadState::kBlocked:
      return "blocked";
    case ThreadState::kStopped:
      return "stopped";
    case ThreadState::kRunning:
      return "running";
    default:
      return "unknown";
  }
}

std::vector<ThreadInterval> ThreadIntervals(const ThreadRuns& runs, uint32_t first, uint32_t last) {
  Intervals intervals;
  bool ended = false;
  for (uint32_t row = first; row < last; ++row) {
    if (IsOpen(runs, row) && row + 1 < last) continue;
    const int64_t begin_ns = runs.begin_ns[row];
    const int64_t ready_ns = begin_ns - static_cast<int64_t>(runs.ready_ns[row]);
    const int64_t away_ns = runs.AwayNs(row);
    // A reused number belongs to another thread.
    if (!intervals.empty() && !ended) {
      intervals.Add(intervals.end_ns(), away_ns, ThreadState::kUnknown, row);
    }
    intervals.Add(away_ns, ready_ns, StateOf(runs.away[row]), row);
    intervals.Add(ready_ns, begin_ns, ThreadState::kRunnable, row);
    intervals.Add(begin_ns, runs.end_ns[row], ThreadState::kRunning, row);
    ended = runs.left[row] == Row::STATE_ENDED;
  }
  return intervals.Done();
}

std::vector<ThreadRows> RowsByThread(const ThreadRuns& runs) {
  std::vector<ThreadRows> threads;
  for (uint32_t row = 0; row < runs.size(); ++row) {
    if (row == 0 || runs.pid[row] != runs.pid[row - 1] || runs.tid[row] != runs.tid[row - 1]) {
      threads.push_back({row, row});
    }
    threads.back().last = row + 1;
  }
  return threads;
}

Listed<ThreadUse> ComputeThreadUse(const model::Model& model) {
  const auto longer = [](const ThreadUse& a, const ThreadUse& b) {
    return a.Ns(ThreadState::kRunning) > b.Ns(ThreadState::kRunning);
  };
  Foremost<ThreadUse, decltype(longer)> uses(longer);
  for (const ThreadRows rows : RowsByThread(model.system.runs)) {
    uses.Add(Summing(model.system.runs).Sum(rows));
  }
  return uses.Done();
}

}  // namespace acceltrace::analysis
