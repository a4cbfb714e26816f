// SPDX-License-Identifier: Apache-2.0
//
// Writes frames to a file through a bounded number of blocks, one at a time, so that a killed
// writer leaves a prefix of the data without a hole.
//
// When the file cannot grow (disk full, file size limit), earlier data stays: the file is truncated
// to the last complete frame, and space that was reserved at the start takes the closing packets.
// When there is space again, TryResume continues after that frame.
#ifndef DAEMON_SINK_FILE_SINK_H_
#define DAEMON_SINK_FILE_SINK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sink/block_writer.h"
#include "daemon/sink/write_thread.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

struct FileSinkOptions {
  bool use_uring = true;
  size_t block_bytes = 256 << 10;
  unsigned blocks = 8;
  size_t reserve_bytes = 64 << 10;
  bool sync = true;  // to the disk with each Kick and at the end: a power cut leaves it
  WriteThread* thread = nullptr;  // writes a file's blocks; else as use_uring says
};

class FileSink {
 public:
  // fd is open for writing; name is for messages; writer replaces the default one in tests.
  FileSink(UniqueFd fd, std::string name, FileSinkOptions options = {},
           std::unique_ptr<BlockWriter> writer = nullptr);
  ~FileSink();

  // Truncates an existing file; call it before the first frame.
  void Begin();

  // Takes one complete frame with this many events. Waits when every block is in flight. After a
  // failure frames are only counted. first_ns is the first time in it, 0 = none.
  void Append(std::string_view frame, uint32_t events, int64_t first_ns = 0);

  // Starts writing, and flushing to the disk, everything taken so far, without waiting.
  void Kick();
  // Continues that; call it periodically.
  void Tend();

  // Writes the rest and waits for it. After a failure truncates the file to the last complete
  // frame.
  void Drain();

  // The disk is full, which may be temporary.
  bool full() const { return full_; }
  // Once full and drained: returns true if there is space again; frames are accepted as before.
  bool TryResume();

  // The file was deleted since the recording began.
  bool removed() const;

  // The reserve may be used from here on.
  void BeginClosing();
  // After a failure and Drain: writes at the end synchronously, using the reserve.
  Status AppendTail(std::string_view frame);
  // Drains, and frees the rest of the reserve.
  void Close();

  // OK, or the first failure.
  const Status& status() const { return status_; }
  // Size of the complete frames in the file; final after Drain.
  uint64_t valid_bytes() const { return valid_bytes_; }
  uint64_t taken_bytes() const { return next_offset_; }
  uint64_t frames_in() const { return frames_in_; }
  uint64_t frames_lost() const { return frames_lost_; }
  uint64_t events_lost() const { return events_lost_; }
  // The first time in the frames lost since the last successful TryResume, 0 = unknown.
  int64_t lost_first_ns() const { return lost_first_ns_; }
  // Number and total time of waits for a block in Append.
  uint64_t stalls() const { return stalls_; }
  int64_t stall_ns() const { return stall_ns_; }
  const char* method() const { return writer_->name(); }
  // Number of requests to flush to the disk.
  uint64_t syncs() const { return syncs_; }

 private:
  struct Frame {
    uint64_t end;
    uint32_t events;
    int64_t first_ns;
  };

  Block* FreeBlock();
  void SubmitCurrent();
  void Reap(bool wait);
  void Finished(const Block& block);
  void Advance();
  bool Reserve(uint64_t end);
  size_t Room(const Block& block);
  void Fail(int error);
  void Lose(uint32_t events, int64_t first_ns);

  UniqueFd fd_;
  std::string name_;
  FileSinkOptions options_;
  bool seekable_;
  bool has_reserve_;
  uint64_t reserved_to_ = 0;  // allocated up to this offset
  bool had_name_ = false;
  bool full_ = false;
  bool sync_wanted_ = false;
  uint64_t syncs_ = 0;
  int64_t lost_first_ns_ = 0;
  std::unique_ptr<BlockWriter> writer_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_;
  std::deque<Block*> in_flight_;  // in the order of their offset; the first one is being written
  bool writing_ = false;
  bool broken_ = false;  // a write failed
  Block* current_ = nullptr;
  std::deque<Frame> pending_;  // frames that are not wholly in the file yet
  uint64_t next_offset_ = 0;
  uint64_t durable_bytes_ = 0;  // without a hole from the beginning
  uint64_t valid_bytes_ = 0;
  Status status_;
  uint64_t frames_in_ = 0, frames_lost_ = 0, events_lost_ = 0;
  uint64_t stalls_ = 0;
  int64_t stall_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_FILE_SINK_H_
