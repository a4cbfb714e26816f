// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/block_writer.h"

#include <liburing.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "daemon/base/privileges.h"

namespace acceltrace::daemon {
namespace {

// Pipes and file systems without a disk cannot be synchronised.
bool NotForThisFile(int error) { return error == EINVAL || error == ENOSYS || error == EROFS; }

class UringWriter : public BlockWriter {
 public:
  explicit UringWriter(int fd) : fd_(fd) {}
  ~UringWriter() override {
    while (in_flight_ > 0 && Reap(true) != nullptr) {
    }
    if (ready_) io_uring_queue_exit(&ring_);
  }

  bool Init(unsigned max_blocks) {
    ready_ = io_uring_queue_init(max_blocks + 1, &ring_, 0) == 0;  // one place for Sync
    return ready_;
  }

  void Submit(Block* block) override {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {  // cannot be: the ring has a place for each block
      block->error = EBUSY;
      failed_.push_back(block);
      return;
    }
    io_uring_prep_write(sqe, fd_, block->data.data() + block->done,
                        static_cast<unsigned>(block->used - block->done),
                        block->offset + block->done);
    io_uring_sqe_set_data(sqe, block);
    ++in_flight_;
    SubmitAll();
  }

  Block* Reap(bool wait) override {
    if (!failed_.empty()) {
      Block* block = failed_.front();
      failed_.pop_front();
      return block;
    }
    while (in_flight_ > 0) {
      io_uring_cqe* cqe = nullptr;
      int result;
      do {
        result = wait ? io_uring_wait_cqe(&ring_, &cqe) : io_uring_peek_cqe(&ring_, &cqe);
      } while (result == -EINTR);
      if (result < 0) return nullptr;
      auto* block = static_cast<Block*>(io_uring_cqe_get_data(cqe));
      const int written = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      if (block == nullptr) {
        Synced(written);
        continue;
      }
      --in_flight_;
      if (written == -EINTR || written == -EAGAIN) {
        Submit(block);
        continue;
      }
      if (written <= 0) {
        block->error = written == 0 ? ENOSPC : -written;
        return block;
      }
      block->done += static_cast<size_t>(written);
      if (block->done >= block->used) return block;
      Submit(block);
    }
    return nullptr;
  }

  bool Sync() override {
    TakeSynced();
    if (syncing_) return false;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return false;
    io_uring_prep_fsync(sqe, fd_, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, nullptr);
    syncing_ = true;
    SubmitAll();
    return true;
  }

  int TakeSyncError() override {
    TakeSynced();
    return std::exchange(sync_error_, 0);
  }

  const char* name() const override { return "io_uring"; }

 private:
  void SubmitAll() {
    // The kernel's worker threads keep the rights that this thread has when they are created.
    const WithRights rights(Rights::kNone);
    int result;
    do {
      result = io_uring_submit(&ring_);
    } while (result == -EINTR || result == -EAGAIN || result == -EBUSY);
  }

  void Synced(int result) {
    syncing_ = false;
    if (result < 0 && !NotForThisFile(-result)) sync_error_ = -result;
  }

  // With no block in flight, a completion can only be that of the sync.
  void TakeSynced() {
    io_uring_cqe* cqe = nullptr;
    if (!syncing_ || in_flight_ > 0 || io_uring_peek_cqe(&ring_, &cqe) < 0) return;
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    Synced(result);
  }

  int fd_;
  io_uring ring_ = {};
  bool ready_ = false;
  unsigned in_flight_ = 0;
  bool syncing_ = false;
  int sync_error_ = 0;
  std::deque<Block*> failed_;
};

class PlainWriter : public BlockWriter {
 public:
  PlainWriter(int fd, bool seekable) : fd_(fd), seekable_(seekable) {}

  void Submit(Block* block) override {
    while (block->done < block->used) {
      const char* from = block->data.data() + block->done;
      const size_t bytes = block->used - block->done;
      const ssize_t written =
          seekable_ ? pwrite(fd_, from, bytes, static_cast<off_t>(block->offset + block->done))
                    : write(fd_, from, bytes);
      if (written > 0) {
        block->done += static_cast<size_t>(written);
      } else if (written < 0 && errno == EAGAIN) {
        pollfd ready = {fd_, POLLOUT, 0};
        poll(&ready, 1, -1);
      } else if (written == 0 || errno != EINTR) {
        block->error = written == 0 ? ENOSPC : errno;
        break;
      }
    }
    finished_.push_back(block);
  }

  Block* Reap(bool) override {
    if (finished_.empty()) return nullptr;
    Block* block = finished_.front();
    finished_.pop_front();
    return block;
  }

  // Blocks until synchronised, since every write of this writer blocks, too.
  bool Sync() override {
    if (seekable_ && fdatasync(fd_) != 0 && !NotForThisFile(errno)) sync_error_ = errno;
    return true;
  }

  int TakeSyncError() override { return std::exchange(sync_error_, 0); }

  const char* name() const override { return seekable_ ? "pwrite" : "write"; }

 private:
  int fd_;
  bool seekable_;
  int sync_error_ = 0;
  std::deque<Block*> finished_;
};

}  // namespace

std::unique_ptr<BlockWriter> MakeUringWriter(int fd, unsigned max_blocks) {
  auto writer = std::make_unique<UringWriter>(fd);
  if (!writer->Init(max_blocks)) return nullptr;
  return writer;
}

std::unique_ptr<BlockWriter> MakePlainWriter(int fd, bool seekable) {
  return std::make_unique<PlainWriter>(fd, seekable);
}

}  // namespace acceltrace::daemon
