// SPDX-License-Identifier: Apache-2.0
//
// A thread that works for the recorder at the recorder's own priority: as SCHED_IDLE beside one of
// idle time. Whoever looks after that one (DrainPriority) lifts this one, too, when something that
// was given to it is not done in time.
#ifndef DAEMON_BASE_IDLE_HELPER_H_
#define DAEMON_BASE_IDLE_HELPER_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"

namespace acceltrace::daemon {

// tid: 0 = the calling thread. False: no right to.
inline bool SetPolicy(int tid, int policy) {
  sched_param param = {};
  if (policy == SCHED_FIFO) param.sched_priority = 1;  // below everybody else's
  return sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

struct IdleHelper {
  static constexpr int64_t kNothing = INT64_MAX;
  std::atomic<int> tid = 0;
  std::atomic<int64_t> since_ns = kNothing;  // when the oldest was given that is not done
  std::atomic<bool> idle = false;            // the recorder works in idle time
  std::atomic<bool> lifted = false;          // until everything is done

  LiftMark mark;

  void Lift() {
    if (!idle || lifted.exchange(true)) return;
    mark.Set(MonotonicNs(), ThreadCpuNs(tid));
    SetPolicy(tid, SCHED_FIFO);
  }
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_IDLE_HELPER_H_
