// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/file_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace acceltrace::daemon {
namespace {

// Approximate size of a frame's entry in the footer.
constexpr size_t kFooterEntryBytes = 26;
// Precision of the search for the end of a full disk.
constexpr size_t kRoomStepBytes = 4096;
// Free space required before a full disk is written to again.
constexpr uint64_t kResumeBytes = 1 << 20;
// Space is reserved in steps of this size, since each may wait for the file system's journal.
constexpr uint64_t kReserveStepBytes = 256 << 10;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

FileSink::FileSink(UniqueFd fd, std::string name, FileSinkOptions options,
                   std::unique_ptr<BlockWriter> writer)
    : fd_(std::move(fd)), name_(std::move(name)), options_(options), writer_(std::move(writer)) {
  // A stream (pipe, socket) has no offsets: one write at a time, and it cannot be truncated.
  seekable_ = lseek(fd_.get(), 0, SEEK_CUR) >= 0;
  has_reserve_ = seekable_ && options_.reserve_bytes > 0;
  if (!writer_ && options_.thread != nullptr && seekable_)
    writer_ = MakeThreadWriter(fd_.get(), options_.thread);
  if (!writer_ && options_.use_uring && seekable_)
    writer_ = MakeUringWriter(fd_.get(), options_.blocks);
  if (!writer_) writer_ = MakePlainWriter(fd_.get(), seekable_);
  for (unsigned i = 0; i < options_.blocks; ++i) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->data.resize(options_.block_bytes);
    free_.push_back(blocks_.back().get());
  }
}

FileSink::~FileSink() {
  while (!in_flight_.empty()) Reap(true);
}

void FileSink::Begin() {
  if (seekable_) (void)!ftruncate(fd_.get(), 0);
  (void)Reserve(0);  // if there is no space, the first block reports it
  struct stat about = {};
  had_name_ = fstat(fd_.get(), &about) == 0 && about.st_nlink > 0;
}

bool FileSink::removed() const {
  struct stat about = {};
  return had_name_ && fstat(fd_.get(), &about) == 0 && about.st_nlink == 0;
}

void FileSink::Fail(int error) {
  if (!status_.ok()) return;
  std::string what = strerror(error);
  std::string hint;
  full_ = seekable_ && (error == ENOSPC || error == EDQUOT);
  if (error == ENOSPC || error == EDQUOT) {
    hint = "; free some space or record to another file system";
  } else if (error == EFBIG) {
    hint = "; the file size limit is reached (ulimit -f)";
  } else if (error == EPIPE) {
    hint = "; the reader has gone";
  }
  status_ = Status::Error("cannot write " + name_ + ": " + what + hint);
}

// Reserves space for the closing packets before anything else. Returns false with errno if full.
bool FileSink::Reserve(uint64_t end) {
  if (!has_reserve_) return true;
  const uint64_t reserve_bytes = options_.reserve_bytes + kFooterEntryBytes * frames_in_;
  // Space can be allocated beyond the file size limit, but not written to.
  rlimit size;
  if (getrlimit(RLIMIT_FSIZE, &size) == 0 && end + reserve_bytes > size.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  if (end + reserve_bytes <= reserved_to_) return true;
  const auto allocate = [&](uint64_t bytes) {
    if (fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end),
                  static_cast<off_t>(bytes)) != 0) {
      return false;
    }
    reserved_to_ = end + bytes;
    return true;
  };
  if (allocate(reserve_bytes + kReserveStepBytes) || allocate(reserve_bytes) || errno == EINTR) {
    return true;
  }
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) {
    has_reserve_ = false;  // not on this file system
    return true;
  }
  return false;
}

// The part of a block that can be written while the reserve after it stays free.
size_t FileSink::Room(const Block& block) {
  size_t fits = 0, too_much = block.used;
  while (too_much - fits > kRoomStepBytes) {
    const size_t middle = fits + (too_much - fits) / 2;
    (Reserve(block.offset + middle) ? fits : too_much) = middle;
  }
  return fits;
}

void FileSink::Finished(const Block& block) {
  writing_ = false;
  if (block.error != 0) Fail(block.error), broken_ = true;
  Advance();
}

// Writes the next block once the previous one is in the file; none after a failed one.
void FileSink::Advance() {
  while (!in_flight_.empty() && !writing_) {
    Block* first = in_flight_.front();
    if (first->done < first->used && !broken_) {
      sync_wanted_ = options_.sync && seekable_;
      writing_ = true;
      writer_->Submit(first);
      break;
    }
    if (durable_bytes_ == first->offset) durable_bytes_ += first->done;
    in_flight_.pop_front();
    free_.push_back(first);
  }
  while (!pending_.empty() && pending_.front().end <= durable_bytes_) {
    valid_bytes_ = pending_.front().end;
    pending_.pop_front();
  }
}

void FileSink::Reap(bool wait) {
  while (const Block* block = writer_->Reap(wait)) {
    Finished(*block);
    wait = false;
  }
}

Block* FileSink::FreeBlock() {
  if (free_.empty()) Reap(false);
  if (free_.empty()) {
    const int64_t begin_ns = NowNs();
    ++stalls_;
    while (free_.empty()) Reap(true);
    stall_ns_ += NowNs() - begin_ns;
  }
  Block* block = free_.back();
  free_.pop_back();
  block->used = block->done = 0;
  block->error = 0;
  return block;
}

void FileSink::SubmitCurrent() {
  Block* block = std::exchange(current_, nullptr);
  if (!status_.ok()) {
    block->used = 0;  // nothing is written past a failure
  } else if (!Reserve(block->offset + block->used)) {
    Fail(errno);
    block->used = Room(*block);
  }
  in_flight_.push_back(block);
  Advance();
  Reap(false);
}

void FileSink::Lose(uint32_t events, int64_t first_ns) {
  ++frames_lost_;
  events_lost_ += events;
  if (first_ns != 0 && (lost_first_ns_ == 0 || first_ns < lost_first_ns_)) {
    lost_first_ns_ = first_ns;
  }
}

void FileSink::Append(std::string_view frame, uint32_t events, int64_t first_ns) {
  ++frames_in_;
  if (!status_.ok()) return Lose(events, first_ns);
  pending_.push_back({next_offset_ + frame.size(), events, first_ns});
  while (!frame.empty()) {
    if (current_ == nullptr) {
      current_ = FreeBlock();
      current_->offset = next_offset_;
    }
    const size_t bytes = std::min(frame.size(), options_.block_bytes - current_->used);
    std::memcpy(current_->data.data() + current_->used, frame.data(), bytes);
    current_->used += bytes;
    next_offset_ += bytes;
    frame.remove_prefix(bytes);
    if (current_->used == options_.block_bytes) SubmitCurrent();
  }
}

void FileSink::Kick() {
  if (current_ != nullptr && !free_.empty()) SubmitCurrent();
  Tend();
}

// Data still being written would not be covered, so wait for it.
void FileSink::Tend() {
  Reap(false);
  if (const int error = writer_->TakeSyncError()) Fail(error);
  if (sync_wanted_ && in_flight_.empty() && writer_->Sync()) {
    sync_wanted_ = false;
    ++syncs_;
  }
}

void FileSink::Drain() {
  if (current_ != nullptr) SubmitCurrent();
  while (!in_flight_.empty()) Reap(true);
  if (status_.ok()) return;
  for (const Frame& frame : pending_) Lose(frame.events, frame.first_ns);
  pending_.clear();
  if (next_offset_ == valid_bytes_) return;
  next_offset_ = valid_bytes_;
  if (!seekable_) return;
  (void)!ftruncate(fd_.get(), static_cast<off_t>(valid_bytes_));
  reserved_to_ = 0;
  (void)Reserve(valid_bytes_);  // the cut gave it back; take it again
}

bool FileSink::TryResume() {
  const auto at = static_cast<off_t>(valid_bytes_);
  reserved_to_ = 0;
  if (has_reserve_) {
    const auto wanted = static_cast<off_t>(kResumeBytes + options_.reserve_bytes);
    if (fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, at, wanted) != 0) return false;
  } else {
    struct statvfs room = {};
    if (fstatvfs(fd_.get(), &room) != 0 || room.f_bavail * room.f_frsize < kResumeBytes) {
      return false;
    }
  }
  status_ = Status();
  full_ = broken_ = false;
  durable_bytes_ = next_offset_ = valid_bytes_;
  lost_first_ns_ = 0;
  return true;
}

void FileSink::BeginClosing() { has_reserve_ = false; }

void FileSink::Close() {
  Drain();
  if (!seekable_) return;
  (void)!ftruncate(fd_.get(), static_cast<off_t>(valid_bytes_));
  if (options_.sync) (void)!fdatasync(fd_.get());
  // Let go of the lock now: this process may continue, and must not block the next recording.
  (void)flock(fd_.get(), LOCK_UN);
}

Status FileSink::AppendTail(std::string_view frame) {
  ++frames_in_;
  Block block;
  block.data.assign(frame.begin(), frame.end());
  block.used = frame.size();
  block.offset = valid_bytes_;
  if (seekable_) MakePlainWriter(fd_.get(), true)->Submit(&block);
  if (!seekable_ || block.error != 0) {
    ++frames_lost_;
    if (seekable_) (void)!ftruncate(fd_.get(), static_cast<off_t>(valid_bytes_));
    return Status::Error(name_ + ": no room for the closing packets either");
  }
  valid_bytes_ += frame.size();
  next_offset_ = valid_bytes_;
  return {};
}

}  // namespace acceltrace::daemon
