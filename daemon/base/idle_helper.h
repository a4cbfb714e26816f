// SPDX-License-Identifier: Apache-2.0
//
// A thread that works for the recorder at the recorder's own priority: with SCHED_IDLE if the
// recorder has it. The watcher of the recorder (DrainPriority) also lifts this thread when its work
// is not done in time.
#ifndef DAEMON_BASE_IDLE_HELPER_H_
#define DAEMON_BASE_IDLE_HELPER_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"

namespace acceltrace::daemon {

// `tid` 0 is the calling thread. Returns false without permission.
inline bool SetPolicy(int tid, int policy) {
  sched_param param = {};
  if (policy == SCHED_FIFO) param.sched_priority = 1;  // below all other real-time threads
  return sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

struct IdleHelper {
  static constexpr int64_t kNothing = INT64_MAX;
  std::atomic<int> tid = 0;
  std::atomic<int64_t> since_ns = kNothing;  // when the oldest unfinished work was queued
  std::atomic<bool> idle = false;            // the recorder has SCHED_IDLE
  std::atomic<bool> lifted = false;          // until all work is done

  LiftMark mark;

  void Lift() {
    if (!idle || lifted.exchange(true)) return;
    mark.Set(MonotonicNs(), ThreadCpuNs(tid));
    SetPolicy(tid, SCHED_FIFO);
  }
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_IDLE_HELPER_H_
