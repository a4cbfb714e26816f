// SPDX-License-Identifier: Apache-2.0
//
// The recorder's thread runs when nobody else wants the processor, until that is not enough.
//
// A thread of SCHED_IDLE is preempted at once by whatever it records. A second one, of
// ordinary priority, sleeps until a ring is filled to its watermark or the recorder is
// overdue, and lifts the first to ordinary priority until that has caught up.
#ifndef DAEMON_DRAIN_PRIORITY_H_
#define DAEMON_DRAIN_PRIORITY_H_

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// idle, normal, or a nice value from -20 to 19.
struct Priority {
  bool idle = true;
  int nice = 0;
};
Result<Priority> ParsePriority(const std::string& text);

// 0,2-5 as the kernel writes lists of processors.
Result<std::vector<int>> ParseCpus(const std::string& text);

class DrainPriority {
 public:
  // For the calling thread. wake_fd: readable at a watermark; outlives this. Errors: no such
  // processor; no permission. Where a thread could not come back from SCHED_IDLE it stays as
  // it is, and *warning says so.
  static Result<std::unique_ptr<DrainPriority>> Apply(const Priority& priority,
                                                      const std::vector<int>& cpus, int wake_fd,
                                                      std::string* warning);
  ~DrainPriority();

  // The thread has caught up and is wanted again at due_ns at the latest.
  void CaughtUp(int64_t due_ns);
  // It has more to do.
  void Working(int64_t now_ns) { due_ns_ = now_ns; }

  // How often it had to be lifted.
  uint64_t lifts() const { return lifts_; }

 private:
  explicit DrainPriority(int wake_fd);
  void Watch();
  void SetIdle(bool idle);

  int wake_fd_;
  int tid_;
  UniqueFd event_;  // the watcher looks again
  std::atomic<bool> stop_ = false, lifted_ = false;
  std::atomic<int64_t> due_ns_ = INT64_MAX;
  std::atomic<uint64_t> lifts_ = 0;
  std::thread watcher_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_DRAIN_PRIORITY_H_
