// SPDX-License-Identifier: Apache-2.0
//
// Frames to a file through a bounded number of blocks, of which one is written at a time: a
// writer that is killed leaves a beginning of what it took, without a hole.
//
// When the file cannot take more (disk full, file size limit), what came before
// stays: the file is cut back to the last whole frame, and a reserve that was
// held free from the beginning takes the closing packets. When there is room again
// TryResume goes on behind that frame.
#ifndef DAEMON_SINK_FILE_SINK_H_
#define DAEMON_SINK_FILE_SINK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/sink/block_writer.h"
#include "daemon/sink/write_thread.h"
#include "daemon/unique_fd.h"
#include "libtrace/stream/result.h"

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
  // fd: open for writing. name: for messages.
  // writer: to fd, for tests; else as the options say.
  FileSink(UniqueFd fd, std::string name, FileSinkOptions options = {},
           std::unique_ptr<BlockWriter> writer = nullptr);
  ~FileSink();

  // Before the first frame: empties a file that was there before.
  void Begin();

  // Takes one whole frame of so many events. Waits when every block is in flight.
  // After a failure frames are only counted. first_ns: of what is in it, 0 = none.
  void Append(std::string_view frame, uint32_t events, int64_t first_ns = 0);

  // Starts writing what has been taken so far, and bringing it to the disk, without waiting.
  void Kick();
  // Goes on with that; to be called now and then.
  void Tend();

  // Writes the rest and waits for all of it. After a failure cuts the file back
  // to the last whole frame.
  void Drain();

  // It has failed for lack of room, which may come.
  bool full() const { return full_; }
  // Once full and drained: true if there is room again, and frames are taken as before.
  bool TryResume();

  // The file had a name when this began, and has none any more.
  bool removed() const;

  // From here on the reserve may be used.
  void BeginClosing();
  // After a failure and Drain: writes at the end without delay, from the reserve.
  Status AppendTail(std::string_view frame);
  // Drain, and what is left of the reserve is given back.
  void Close();

  // Fine, or what went wrong first.
  const Status& status() const { return status_; }
  // Bytes that are whole frames in the file; final after Drain.
  uint64_t valid_bytes() const { return valid_bytes_; }
  uint64_t taken_bytes() const { return next_offset_; }
  uint64_t frames_in() const { return frames_in_; }
  uint64_t frames_lost() const { return frames_lost_; }
  uint64_t events_lost() const { return events_lost_; }
  // Of what was lost since the last TryResume that worked: the first time, 0 = none is known.
  int64_t lost_first_ns() const { return lost_first_ns_; }
  // Times and ns that Append had to wait for a block.
  uint64_t stalls() const { return stalls_; }
  int64_t stall_ns() const { return stall_ns_; }
  const char* method() const { return writer_->name(); }
  // How often the disk was asked for that.
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
