// SPDX-License-Identifier: Apache-2.0
//
// A recording's thread for writing blocks. Where the file system cannot take a block without
// waiting (ext4, tmpfs), io_uring would use a kernel thread: at normal priority, ahead of the
// recorded programs, and without accounting. This thread has the recorder's priority, yields
// between pieces of a block, and logs when it worked.
#ifndef DAEMON_SINK_WRITE_THREAD_H_
#define DAEMON_SINK_WRITE_THREAD_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/base/idle_helper.h"
#include "daemon/base/work_log.h"
#include "daemon/sink/block_writer.h"

namespace acceltrace::daemon {

// Waiters lend the owner their priority: a lifted recorder must not wait for a preempted SCHED_IDLE
// thread.
struct LendingMutex : std::mutex {
  LendingMutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(native_handle(), &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
};

class WriteThread {
 public:
  struct Job {
    int fd;
    Block* block;
    int64_t given_ns;
    bool done = false;
  };

  WriteThread();
  ~WriteThread();

  // Jobs run in order. The job and its block must stay until it is done.
  void Submit(Job* job);
  bool IsDone(const Job& job, bool wait);

  IdleHelper* helper() { return &helper_; }
  // Only while no job is in progress.
  const WorkLog& log() const { return log_; }
  uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  void Run();
  void Write(Job* job);
  void BackToIdle();

  IdleHelper helper_;
  WorkLog log_;
  std::atomic<uint64_t> cpu_ns_ = 0;
  LendingMutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Job*> jobs_;
  bool stop_ = false;
  std::thread thread_;
};

// The thread must outlive the writer.
std::unique_ptr<BlockWriter> MakeThreadWriter(int fd, WriteThread* thread);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_WRITE_THREAD_H_
