// SPDX-License-Identifier: Apache-2.0
//
// Lets a SCHED_IDLE thread yield the CPU.
//
// Such a thread is preempted by threads that wake up, but not by those that were runnable all
// along: once it was picked because another thread went to sleep, it runs on to the next tick.
// Therefore it yields now and then, in case others want the CPU.
#ifndef DAEMON_BASE_GIVE_WAY_H_
#define DAEMON_BASE_GIVE_WAY_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "daemon/base/host_info.h"

namespace acceltrace::daemon {

// Since when an idle thread is lifted (drain_priority.h) and does not yield. The lifting thread
// sets it before it lifts; the lifted thread clears it.
class LiftMark {
 public:
  // `cpu_ns` is the CPU time that the thread had used by then.
  void Set(int64_t at_ns, uint64_t cpu_ns) {
    cpu_ns_.store(cpu_ns, std::memory_order_relaxed);
    at_ns_.store(at_ns, std::memory_order_release);
  }
  void Clear() { at_ns_.store(0, std::memory_order_relaxed); }
  int64_t at_ns() const { return at_ns_.load(std::memory_order_acquire); }  // 0 if not lifted
  uint64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> at_ns_ = 0;
  std::atomic<uint64_t> cpu_ns_ = 0;
};

// Is told that the thread did not run from begin_ns to end_ns, or that it is no longer lifted (both
// are the current time).
class GiveWayObserver {
 public:
  virtual void OnGaveWay(int64_t begin_ns, int64_t end_ns) = 0;

 protected:
  ~GiveWayObserver() = default;
};

inline thread_local bool gives_way = false;  // set by DrainPriority
inline thread_local GiveWayObserver* give_way_observer = nullptr;
inline thread_local LiftMark* lift_mark = nullptr;
inline constexpr int64_t kGaveWayNs = 10'000;  // longer than a call that yielded to no thread

// The calling thread is about to work in idle time again.
inline void EndLift() {
  if (lift_mark == nullptr || lift_mark->at_ns() == 0) return;
  const int64_t now_ns = MonotonicNs();
  if (give_way_observer != nullptr) give_way_observer->OnGaveWay(now_ns, now_ns);
  lift_mark->Clear();
}

// Called between steps of some ten microseconds.
inline void GiveWay() {
  if (!gives_way) return;
  const int64_t begin_ns = MonotonicNs();
  sched_yield();
  const int64_t end_ns = MonotonicNs();
  if (end_ns - begin_ns > kGaveWayNs && give_way_observer != nullptr) {
    give_way_observer->OnGaveWay(begin_ns, end_ns);
  }
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_GIVE_WAY_H_
