// SPDX-License-Identifier: Apache-2.0
//
// The priority of the recorder's thread. With `idle` it only uses otherwise idle CPU time, until
// that is not sufficient.
//
// A SCHED_IDLE thread is preempted at once by the programs that it records. A second thread, the
// watcher, has SCHED_FIFO and sleeps until a ring is filled to its watermark. The recorder is woken
// by that, too, and may get enough CPU time without help. Therefore the watcher waits until either
// the ring is almost full or the recorder is overdue, and then raises the recorder's priority
// ("lifts" it) until the rings have free space again. A lifted recorder has SCHED_FIFO, as the fair
// scheduler weights time spent in SCHED_IDLE about 300 times: a normal thread would not be
// scheduled for long on a busy CPU.
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
#include "libtrace/base/result.h"
#include "libtrace/control/recording.h"

namespace acceltrace::daemon {

// The longest time that an idle recorder may be late with its work before it is lifted.
inline constexpr int64_t kMostLateNs = 25'000'000;

using control::Priority;

class DrainPriority {
 public:
  // Returns the fill level of the fullest ring whose level is known, in permille. May be called
  // from any thread.
  using Fill = std::function<uint32_t()>;

  // What wakes the recorder. All of it must outlive the DrainPriority.
  struct Wakes {
    int watermark_fd = -1;  // readable while a ring is at its watermark
    int urgent_fd = -1;     // epoll: another ring is at its watermark, or a reply is waited for
    Fill fill;
    IdleHelper* helper = nullptr;  // has the recorder's priority
    WorkLog* log = nullptr;        // of the watcher; must not be read while the watcher runs
  };

  // Applies to the calling thread. Fails if there is no such CPU, or without permission. If the
  // thread could not return from SCHED_IDLE, its policy is unchanged; *warning says so if
  // SCHED_IDLE was required.
  static Result<std::unique_ptr<DrainPriority>> Apply(const Priority& priority,
                                                      const std::vector<int>& cpus, Wakes wakes,
                                                      std::string* warning);
  ~DrainPriority();

  // The thread has done all its work; it must flush at due_ns.
  void CaughtUp(int64_t due_ns);
  // The thread has more work; fill_permille is how full the fullest ring was.
  void Working(int64_t due_ns, uint32_t fill_permille);

  // Must be called when the recording ends: from now on, the thread is lifted. It has used so much
  // CPU time in SCHED_IDLE that it would not be scheduled for long at normal priority, while the
  // rings fill.
  void Hurry();

  // Returns true if the thread has SCHED_IDLE, except while it is lifted.
  bool idle() const { return watcher_.joinable(); }

  // The number of times that the thread was lifted.
  uint64_t lifts() const { return lifts_; }

 private:
  static constexpr int64_t kLongestLookNs = 250'000'000;

  explicit DrainPriority(Wakes wakes);
  // The state that the watcher has seen.
  struct Look {
    int64_t at_ns = 0;
    int64_t next_ns = kLongestLookNs;  // time until the next look
    uint32_t fill_permille = 0;
    bool alert = false;     // above a watermark
    int64_t urgent_ns = 0;  // when an event happened that the recorder has not handled yet
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
  UniqueFd event_;  // makes the watcher look again
  bool hurries_ = false;
  std::atomic<bool> stop_ = false, lifted_ = false;
  std::atomic<bool> late_ = false;  // lifted because it was overdue
  std::atomic<int64_t> due_ns_ = INT64_MAX;
  std::atomic<uint64_t> lifts_ = 0, polls_ = 0;
  std::thread watcher_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_DRAIN_PRIORITY_H_
