// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/thread_calls.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

// Submissions of a thread arrive in order, except for some from another CPU's ring that are late.
constexpr int64_t kLateNs = 2'000'000'000;
constexpr size_t kMaxOpen = 64;  // calls whose ends were lost stay open

}  // namespace

void ThreadCalls::Add(Thread* thread, int64_t time_ns) {
  std::deque<Change>& changes = thread->changes;
  // The first remaining one is valid until the second.
  while (changes.size() > 1 && changes[1].time_ns < time_ns - kLateNs) {
    changes.pop_front();
    --changes_;
  }
  if (changes.size() >= kMaxOfThread || changes_ >= kMaxChanges) {
    if (changes.empty()) return;
    changes.pop_front();
    --changes_;
  }
  changes.push_back({time_ns, thread->open.empty() ? 0 : thread->open.back()});
  ++changes_;
}

void ThreadCalls::Begin(uint64_t thread, int64_t time_ns, uint64_t correlation) {
  ForgetEnded(time_ns);
  Thread& calls = threads_[thread];
  calls.ended_ns = 0;  // another thread with the same id
  if (calls.open.size() >= kMaxOpen) calls.open.erase(calls.open.begin());
  calls.open.push_back(correlation);
  Add(&calls, time_ns);
}

void ThreadCalls::End(uint64_t thread, int64_t time_ns, uint64_t correlation) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  std::vector<uint64_t>& open = found->second.open;
  const auto call = std::find(open.begin(), open.end(), correlation);
  if (call == open.end()) return;
  open.erase(call, open.end());  // the ends of inner calls were lost
  Add(&found->second, time_ns);
}

void ThreadCalls::Ended(uint64_t thread, int64_t time_ns) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  found->second.open.clear();
  Add(&found->second, time_ns);
  found->second.ended_ns = time_ns;
  ended_.emplace_back(time_ns, thread);
}

void ThreadCalls::ForgetEnded(int64_t now_ns) {
  for (; !ended_.empty() && ended_.front().first < now_ns - kLateNs; ended_.pop_front()) {
    const auto found = threads_.find(ended_.front().second);
    if (found == threads_.end() || found->second.ended_ns != ended_.front().first) continue;
    changes_ -= found->second.changes.size();
    threads_.erase(found);
  }
}

uint64_t ThreadCalls::At(uint64_t thread, int64_t time_ns) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return 0;
  const std::deque<Change>& changes = found->second.changes;
  const auto next =
      std::upper_bound(changes.begin(), changes.end(), time_ns,
                       [](int64_t at, const Change& one) { return at < one.time_ns; });
  return next == changes.begin() ? 0 : std::prev(next)->correlation;
}

}  // namespace acceltrace::daemon
