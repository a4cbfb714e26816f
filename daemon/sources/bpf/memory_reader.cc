// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/memory_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

// The maximum number of helpers that are blocked for ever, one per process; after that, no memory
// is read any more.
constexpr size_t kMostWaitedFor = 16;
// A process may report any addresses at any rate.
constexpr int64_t kReadsPerS = 2000, kReadsAtOnce = 256;
constexpr int64_t kNsPerS = 1'000'000'000;

}  // namespace

struct MemoryReader::Helper {
  std::mutex mutex;
  std::condition_variable changed;
  bool asked = false, end = false;
  uint32_t pid = 0;
  uint64_t address = 0;
  size_t max_bytes = 0;
  std::string text;

  void Run() {
    (void)DropAllButNeeded();
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return end || asked; });
      if (end) return;
      lock.unlock();
      std::string read;
      {
        const WithRights rights(Rights::kRecording);
        read = daemon::ReadString(pid, address, max_bytes);
      }
      lock.lock();
      text = std::move(read);
      asked = false;
      changed.notify_all();
    }
  }
};

MemoryReader::MemoryReader(std::chrono::milliseconds patience)
    : patience_(patience), reads_left_(kReadsAtOnce) {}

MemoryReader::~MemoryReader() {
  if (!helper_) return;
  const std::lock_guard<std::mutex> lock(helper_->mutex);
  helper_->end = true;
  helper_->changed.notify_all();
}

std::string MemoryReader::ReadString(uint32_t pid, uint64_t address, size_t max_bytes) {
  const int64_t now_ns = MonotonicNs();
  const int64_t since_ns = std::clamp<int64_t>(now_ns - refilled_ns_, 0, kNsPerS);
  if (const int64_t more = since_ns * kReadsPerS / kNsPerS; more > 0) {
    refilled_ns_ = now_ns;
    reads_left_ = std::min(reads_left_ + more, kReadsAtOnce);
  }
  if (reads_left_ <= 0 || waited_for_.size() >= kMostWaitedFor || waited_for_.count(pid) != 0) {
    return "";
  }
  --reads_left_;
  if (!helper_) {
    try {
      helper_ = std::make_shared<Helper>();
      std::thread([helper = helper_] { helper->Run(); }).detach();
    } catch (const std::system_error&) {
      helper_.reset();
      return "";
    }
  }
  std::unique_lock<std::mutex> lock(helper_->mutex);
  helper_->pid = pid;
  helper_->address = address;
  helper_->max_bytes = max_bytes;
  helper_->asked = true;
  helper_->changed.notify_all();
  if (helper_->changed.wait_for(lock, patience_, [this] { return !helper_->asked; })) {
    return std::move(helper_->text);
  }
  // The thread ends when its blocked read returns.
  helper_->end = true;
  lock.unlock();
  helper_.reset();
  waited_for_.insert(pid);
  return "";
}

}  // namespace acceltrace::daemon
