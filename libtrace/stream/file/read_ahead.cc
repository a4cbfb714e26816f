// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/read_ahead.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace acceltrace::stream {
namespace {

constexpr size_t kAhead = 2;  // packets, including the one being processed

bool ReadOne(Reader* reader, PacketRead* one) {
  if (reader->Read(&one->packet) != Reader::Next::kPacket) return false;
  one->columns = reader->columns(), one->written_rows = reader->written_rows();
  one->bytes = reader->stats().bytes, one->worth_bytes = reader->stats().worth_bytes;
  return true;
}

// The reading thread. Packets are in a ring buffer, and at most kAhead are not processed yet.
class Ahead {
 public:
  explicit Ahead(Reader* reader) : reader_(*reader), thread_([this] { Run(); }) {}
  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Valid until the next call; nullptr at the end.
  const PacketRead* Next() {
    std::unique_lock lock(mutex_);
    if (any_taken_) ++taken_;
    any_taken_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return read_ > taken_ || ended_; });
    if (read_ > taken_) return &ring_[taken_ % kAhead];
    if (failure_) std::rethrow_exception(failure_);
    return nullptr;
  }

 private:
  void Run() {
    std::exception_ptr failure;
    try {
      uint64_t before = reader_.stats().bytes;
      while (Wait() && ReadOne(&reader_, &ring_[read_ % kAhead])) {
        const std::lock_guard lock(mutex_);
        const uint64_t bytes = ring_[read_++ % kAhead].bytes;
        most_ = bytes - before > Reader::kLargeBytes ? 1 : kAhead;
        before = bytes;
        changed_.notify_all();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure, ended_ = true;
    changed_.notify_all();
  }
  // Waits for a free slot. Returns false if no more packets are wanted.
  bool Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return read_ < taken_ + most_ || stopped_; });
    return !stopped_;
  }

  Reader& reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<PacketRead, kAhead> ring_;
  uint64_t read_ = 0, taken_ = 0;  // packets
  size_t most_ = kAhead;           // at a time; 1 after a large one, whose columns are not kept
  bool any_taken_ = false, ended_ = false, stopped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // the last member, because it uses the others
};

void TakeEach(Reader* reader, size_t threads, const std::function<bool(const PacketRead&)>& take,
              uint64_t ahead_from_bytes) {
  bool alone = threads < 2;
  reader->KeepColumns(1);
  PacketRead one;
  while (ReadOne(reader, &one)) {
    if (!take(one)) return;
    if (alone || one.bytes < ahead_from_bytes) continue;
    if (reader->KeepColumns(kAhead) < kAhead) {
      alone = true;
      continue;
    }
    std::unique_ptr<Ahead> ahead;
    try {
      ahead = std::make_unique<Ahead>(reader);
    } catch (const std::system_error&) {
      alone = true;  // the process may not start more threads
      continue;
    }
    const PacketRead* next = ahead->Next();
    while (next != nullptr && take(*next)) next = ahead->Next();
    return;
  }
}

}  // namespace

void EachPacket(Reader* reader, size_t threads, const std::function<bool(const PacketRead&)>& take,
                uint64_t ahead_from_bytes) {
  TakeEach(reader, threads, take, ahead_from_bytes);
  reader->KeepColumns(1);  // its memory is used for the converted rows now
}

}  // namespace acceltrace::stream
