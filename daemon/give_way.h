// SPDX-License-Identifier: Apache-2.0
//
// A thread of SCHED_IDLE is preempted by whoever wakes up, but not by a thread that was
// runnable all along: once it was picked, because another thread went to sleep, it runs on to the
// next tick. So it asks, now and then, whether anybody else wants the processor.
#ifndef DAEMON_GIVE_WAY_H_
#define DAEMON_GIVE_WAY_H_

#include <sched.h>

#include <cstdint>

#include "daemon/sources/host_info.h"

namespace acceltrace::daemon {

// Whoever wants to know that the thread did not run from begin_ns to end_ns.
class GiveWayObserver {
 public:
  virtual void OnGaveWay(int64_t begin_ns, int64_t end_ns) = 0;

 protected:
  ~GiveWayObserver() = default;
};

inline thread_local bool gives_way = false;  // set by DrainPriority
inline thread_local GiveWayObserver* give_way_observer = nullptr;
inline constexpr int64_t kGaveWayNs = 10'000;  // longer than a call that came back at once

// Between steps of some ten microseconds.
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

#endif  // DAEMON_GIVE_WAY_H_
