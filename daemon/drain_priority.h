// SPDX-License-Identifier: Apache-2.0
//
// The priority of the recorder's thread. As `idle` it runs when nobody else wants the processor,
// until that is not enough.
//
// A thread of SCHED_IDLE is preempted at once by whatever it records. A second one, of
// SCHED_FIFO, sleeps until a ring is filled to its watermark. The recorder has been woken
// by that, too, and may get enough time without help, so the second looks on until either the ring
// is almost full or the recorder is overdue, and then lifts the first until there is space again.
// Lifted, it is a thread of SCHED_FIFO: time spent in SCHED_IDLE counts some 300 times for the
// fair scheduler, so that an ordinary one would come last for long on a busy processor.
#ifndef DAEMON_DRAIN_PRIORITY_H_
#define DAEMON_DRAIN_PRIORITY_H_

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/idle_helper.h"
#include "daemon/base/unique_fd.h"
#include "daemon/base/work_log.h"
#include "libtrace/control/recording.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// How late a recorder of idle time may be with what it owes before it is lifted.
inline constexpr int64_t kMostLateNs = 25'000'000;

using control::Priority;

class DrainPriority {
 public:
  // How full the fullest ring is of those whose fill level is known, in permille; from any thread.
  using Fill = std::function<uint32_t()>;

  // What the recorder is woken by; all of it outlives this.
  struct Wakes {
    int watermark_fd = -1;  // readable while a ring is at its watermark
    int urgent_fd = -1;     // epoll: an event when another ring is, or an answer is waited for
    Fill fill;
    IdleHelper* helper = nullptr;  // has the recorder's priority
    WorkLog* log = nullptr;        // of the thread that watches; the caller's once this is gone
  };

  // For the calling thread. Errors: no such processor; no permission. Where a thread could not
  // come back from SCHED_IDLE it stays as it is, and *warning says so if that was required.
  static Result<std::unique_ptr<DrainPriority>> Apply(const Priority& priority,
                                                      const std::vector<int>& cpus, Wakes wakes,
                                                      std::string* warning);
  ~DrainPriority();

  // The thread has caught up; at due_ns it is to have flushed.
  void CaughtUp(int64_t due_ns);
  // It has more to do; fill_permille: how full the fullest ring was.
  void Working(int64_t due_ns, uint32_t fill_permille);

  // The recording ends: from here on until this is gone the thread comes first. In idle time it had
  // so much of the processor that at ordinary priority it would come last for long, while the rings
  // fill.
  void Hurry();

  // Works in idle time, unless it is lifted just now.
  bool idle() const { return watcher_.joinable(); }

  // How often it had to be lifted.
  uint64_t lifts() const { return lifts_; }

 private:
  static constexpr int64_t kLongestLookNs = 250'000'000;

  explicit DrainPriority(Wakes wakes);
  // What the watcher knows.
  struct Look {
    int64_t at_ns = 0;
    int64_t next_ns = kLongestLookNs;  // of the next one, from now
    uint32_t fill_permille = 0;
    bool alert = false;     // above a watermark
    int64_t urgent_ns = 0;  // when something happened that the recorder did not look at since
    uint64_t polls = 0;
    bool lift = false;
  };
  Look LookAt(const Look& before, bool urgent);
  void Poke();
  void EndWatch();
  void Watch();
  void LogLook(int64_t begin_ns, uint64_t* cpu_ns);
  void SetIdle(bool idle);
  void ApplyPolicy();
  void KeepLifted();
  void SetHelper(int policy);
  int64_t TendHelper();

  Wakes wakes_;
  int tid_;
  LiftMark mark_;
  UniqueFd event_;  // the watcher looks again
  bool hurries_ = false;
  std::atomic<bool> stop_ = false, lifted_ = false;
  std::atomic<bool> late_ = false;  // lifted because it was overdue
  std::atomic<int64_t> due_ns_ = INT64_MAX;
  std::atomic<uint64_t> lifts_ = 0, polls_ = 0;
  std::thread watcher_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_DRAIN_PRIORITY_H_
