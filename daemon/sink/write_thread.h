// SPDX-License-Identifier: Apache-2.0
//
// A recording's own thread that writes its blocks. io_uring would have a thread of the kernel write
// them wherever the file system cannot take a block without waiting (ext4, tmpfs): at ordinary
// priority, before what is recorded, and in no account. This one has the recorder's priority, gives
// way between pieces of a block, and notes when it worked.
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

#include "daemon/idle_helper.h"
#include "daemon/sink/block_writer.h"
#include "daemon/work_log.h"

namespace acceltrace::daemon {

// Whoever waits for it lends the owner its priority: a lifted recorder must not wait for a thread
// of idle time that was preempted.
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

  // In order. The job and its block stay until it is done.
  void Submit(Job* job);
  bool IsDone(const Job& job, bool wait);

  IdleHelper* helper() { return &helper_; }
  // While nothing is under way.
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

// thread outlives it.
std::unique_ptr<BlockWriter> MakeThreadWriter(int fd, WriteThread* thread);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_WRITE_THREAD_H_
