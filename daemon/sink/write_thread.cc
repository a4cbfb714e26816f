// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/write_thread.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"

namespace acceltrace::daemon {
namespace {

// A piece is copied into the page cache in about ten microseconds.
constexpr size_t kPieceBytes = 16 << 10;

// With more blocks waiting the thread is lifted, since blocks are limited and events would be lost.
constexpr size_t kMostInIdleTime = 2;
// Maximum wait for a block before the thread is lifted out of idle time.
constexpr std::chrono::milliseconds kMostWaited{2};

class ThreadWriter : public BlockWriter {
 public:
  ThreadWriter(int fd, WriteThread* thread) : fd_(fd), thread_(thread) {
    syncer_ = MakeUringWriter(fd, 1);
    if (!syncer_) syncer_ = MakePlainWriter(fd, true);
  }
  ~ThreadWriter() override {
    while (Reap(true) != nullptr) {
    }
  }

  void Submit(Block* block) override {
    jobs_.push_back(
        std::make_unique<WriteThread::Job>(WriteThread::Job{fd_, block, MonotonicNs()}));
    thread_->Submit(jobs_.back().get());
  }

  Block* Reap(bool wait) override {
    if (jobs_.empty() || !thread_->IsDone(*jobs_.front(), wait)) return nullptr;
    Block* block = jobs_.front()->block;
    jobs_.pop_front();
    return block;
  }

  // The kernel syncs, so that later blocks do not wait for the disk.
  bool Sync() override { return syncer_->Sync(); }
  int TakeSyncError() override { return syncer_->TakeSyncError(); }
  const char* name() const override { return "thread"; }

 private:
  int fd_;
  WriteThread* thread_;
  std::unique_ptr<BlockWriter> syncer_;
  std::deque<std::unique_ptr<WriteThread::Job>> jobs_;
};

}  // namespace

WriteThread::WriteThread() : thread_([this] { Run(); }) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return helper_.tid != 0; });  // needed to set its priority
}

WriteThread::~WriteThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void WriteThread::Submit(Job* job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (jobs_.empty()) helper_.since_ns = job->given_ns;
  jobs_.push_back(job);
  if (jobs_.size() > kMostInIdleTime) helper_.Lift();
  work_.notify_one();
}

bool WriteThread::IsDone(const Job& job, bool wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto done = [&job] { return job.done; };
  if (wait && !done_.wait_for(lock, kMostWaited, done)) {
    helper_.Lift();  // a waiting recorder does not drain the rings
    done_.wait(lock, done);
  }
  return job.done;
}

// If another thread ends the recorder's idle time at the same moment, that one wins.
void WriteThread::BackToIdle() {
  if (!helper_.lifted.exchange(false)) return;
  EndLift();
  if (helper_.idle) SetPolicy(0, SCHED_IDLE);
  if (!helper_.idle) SetPolicy(0, SCHED_OTHER);
}

void WriteThread::Run() {
  DropAll();
  lift_mark = &helper_.mark;
  std::unique_lock<std::mutex> lock(mutex_);
  helper_.tid = static_cast<int>(syscall(SYS_gettid));
  done_.notify_all();
  for (;;) {
    work_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job* job = jobs_.front();
    lock.unlock();
    Write(job);
    lock.lock();
    jobs_.pop_front();
    helper_.since_ns = jobs_.empty() ? IdleHelper::kNothing : jobs_.front()->given_ns;
    job->done = true;
    done_.notify_all();
    if (jobs_.empty()) BackToIdle();
  }
}

void WriteThread::Write(Job* job) {
  gives_way = helper_.idle;
  Block* block = job->block;
  {
    const WorkLog::Stretch stretch(&log_);
    while (block->done < block->used) {
      const size_t bytes = std::min(block->used - block->done, kPieceBytes);
      const ssize_t written = pwrite(job->fd, block->data.data() + block->done, bytes,
                                     static_cast<off_t>(block->offset + block->done));
      if (written > 0) {
        block->done += static_cast<size_t>(written);
        GiveWay();
      } else if (written == 0 || (errno != EINTR && errno != EAGAIN)) {
        block->error = written == 0 ? ENOSPC : errno;
        break;
      }
    }
  }
  cpu_ns_ = ThreadCpuNs();
}

std::unique_ptr<BlockWriter> MakeThreadWriter(int fd, WriteThread* thread) {
  return std::make_unique<ThreadWriter>(fd, thread);
}

}  // namespace acceltrace::daemon
