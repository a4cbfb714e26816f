// SPDX-License-Identifier: Apache-2.0
//
// Finds the call in which a thread was: a provider's submission does not name it, and arrives later
// than the call's own records.
#ifndef DAEMON_SOURCES_BPF_THREAD_CALLS_H_
#define DAEMON_SOURCES_BPF_THREAD_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace acceltrace::daemon {

class ThreadCalls {
 public:
  // The maximum number of begins and ends, per thread and in total. If there are more, the oldest
  // ones of the calling thread are dropped: its submissions from that time have no call.
  static constexpr size_t kMaxOfThread = size_t{1} << 16, kMaxChanges = size_t{1} << 22;

  // The events of a thread must be added in order; `thread` is pid << 32 | tid.
  void Begin(uint64_t thread, int64_t time_ns, uint64_t correlation);
  void End(uint64_t thread, int64_t time_ns, uint64_t correlation);
  // The thread has ended; records of its submissions may follow.
  void Ended(uint64_t thread, int64_t time_ns);

  // Returns the innermost call in which the thread was, or 0 if there is none. An ended thread is
  // forgotten after some seconds.
  uint64_t At(uint64_t thread, int64_t time_ns) const;

 private:
  struct Change {
    int64_t time_ns;
    uint64_t correlation;  // of the innermost call since then
  };
  struct Thread {
    std::vector<uint64_t> open;  // outermost first
    std::deque<Change> changes;  // by time
    int64_t ended_ns = 0;        // 0 while it exists
  };
  void Add(Thread* thread, int64_t time_ns);
  void ForgetEnded(int64_t now_ns);

  std::unordered_map<uint64_t, Thread> threads_;
  std::deque<std::pair<int64_t, uint64_t>> ended_;  // time and thread
  size_t changes_ = 0;                              // of all threads
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_THREAD_CALLS_H_
