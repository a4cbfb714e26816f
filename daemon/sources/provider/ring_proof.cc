// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/ring_proof.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"

namespace acceltrace::daemon {
namespace {

// The clocks of two CPUs differ by less.
constexpr int64_t kClockSkewNs = 1'000;
// A grace period costs every busy CPU some time, so there are no more of them than necessary.
constexpr auto kPause = std::chrono::milliseconds(10);
constexpr auto kMeanwhile = std::chrono::milliseconds(1);

bool Membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool CanWait() {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return known > 0 && (known & MEMBARRIER_CMD_GLOBAL) != 0;
}

}  // namespace

RingProof::RingProof(std::function<bool()> wait)
    : wait_(wait ? std::move(wait) : [] { return Membarrier(MEMBARRIER_CMD_GLOBAL); }),
      available_(wait != nullptr || CanWait()) {
  if (available_) thread_ = std::thread(&RingProof::Run, this);
}

RingProof::~RingProof() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool RingProof::available() const {
  const std::lock_guard lock(mutex_);
  return available_;
}

int64_t RingProof::proven_ns() const {
  const std::lock_guard lock(mutex_);
  return proven_ns_;
}

void RingProof::AskFor(bool urgent) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
    urgent_ = urgent_ || urgent;
  }
  wake_.notify_one();
}

bool RingProof::Await(int64_t longest_ns, const std::function<void()>& meanwhile) {
  const int64_t begin_ns = MonotonicNs();
  AskFor(true);
  std::unique_lock lock(mutex_);
  while (proven_ns_ < begin_ns - kClockSkewNs) {
    if (!available_ || MonotonicNs() - begin_ns > longest_ns) return false;
    proof_.wait_for(lock, kMeanwhile);
    if (!meanwhile) continue;
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  return true;
}

void RingProof::Run() {
  DropAll();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || asked_; });
    if (ending_) return;
    asked_ = urgent_ = false;
    lock.unlock();
    const int64_t begin_ns = MonotonicNs();
    const bool passed = wait_();
    lock.lock();
    if (passed) proven_ns_ = std::max(proven_ns_, begin_ns - kClockSkewNs);
    available_ = passed;
    proof_.notify_all();
    if (!passed) return;
    wake_.wait_for(lock, kPause, [this] { return ending_ || urgent_; });
  }
}

}  // namespace acceltrace::daemon
