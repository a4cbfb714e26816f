// SPDX-License-Identifier: Apache-2.0
//
// Which call a thread was in: a provider's submission comes without it, and later than the call's
// own records.
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
  // Begins and ends, of a thread and of all together. With more the oldest of the thread that calls
  // are forgotten: what it submitted then has no call.
  static constexpr size_t kMaxOfThread = size_t{1} << 16, kMaxChanges = size_t{1} << 22;

  // Of one thread in order; thread: pid << 32 | tid.
  void Begin(uint64_t thread, int64_t time_ns, uint64_t correlation);
  void End(uint64_t thread, int64_t time_ns, uint64_t correlation);
  // The thread has ended; what it submitted may still come.
  void Ended(uint64_t thread, int64_t time_ns);

  // The innermost call that the thread was in; 0: none. Seconds later it is forgotten.
  uint64_t At(uint64_t thread, int64_t time_ns) const;

 private:
  struct Change {
    int64_t time_ns;
    uint64_t correlation;  // of the innermost call from then on
  };
  struct Thread {
    std::vector<uint64_t> open;  // outermost first
    std::deque<Change> changes;  // by time
    int64_t ended_ns = 0;        // 0: it lives
  };
  void Add(Thread* thread, int64_t time_ns);
  void ForgetEnded(int64_t now_ns);

  std::unordered_map<uint64_t, Thread> threads_;
  std::deque<std::pair<int64_t, uint64_t>> ended_;  // when, and which
  size_t changes_ = 0;                              // of all threads
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_THREAD_CALLS_H_
