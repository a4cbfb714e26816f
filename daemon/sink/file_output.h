// SPDX-License-Identifier: Apache-2.0
//
// Writes the session's packets to a trace file.
//
// With PauseWhenFull a full disk is not a failure: packets are counted as lost until there is space
// again. Writing resumes with the packets that later ones depend on.
#ifndef DAEMON_SINK_FILE_OUTPUT_H_
#define DAEMON_SINK_FILE_OUTPUT_H_

#include <deque>
#include <string>

#include "daemon/session/packet_output.h"
#include "daemon/sink/file_sink.h"
#include "libtrace/stream/file/writer.h"

namespace acceltrace::daemon {

class FileOutput : public PacketOutput {
 public:
  explicit FileOutput(FileSink* sink) : sink_(sink) {}

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  void PauseWhenFull() { may_pause_ = true; }
  // The disk is full, and writing waits for space.
  bool paused() const { return paused_; }
  // The sink's failure, unless it is a full disk that can be waited for.
  Status failure() const { return may_pause_ && sink_->full() ? Status() : sink_->status(); }
  // While paused: returns true if writing can resume. *gap gets the losses and their first time.
  struct Gap {
    uint64_t rows = 0;
    int64_t first_ns = 0;
  };
  bool TryResume(Gap* gap);

  // Everything up to here is in the file after this, or counted as lost. Packets written from now
  // on are the closing packets.
  void BeginClosing();
  // Writes the footer; the file is complete.
  void Close();

  uint64_t packets_in() const { return packets_in_; }
  uint64_t packets_lost() const { return too_large_ + sink_->frames_lost(); }
  uint64_t rows_lost() const { return rows_too_large_ + sink_->events_lost() - kept_rows_; }
  uint64_t rows() const { return rows_; }
  // The rows that are events, not strings, processes or names.
  uint64_t events() const { return events_; }

 private:
  // A packet that others depend on, kept until it is in the file.
  struct Kept {
    uint64_t end = 0;  // offset in the file; kNever if it was never sent there
    std::string bytes;
    uint32_t rows = 0;
  };
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr size_t kMaxKeptBytes = 16 << 20;

  void Put(uint32_t rows, int64_t first_ns = 0);
  void Pause();
  void Keep(std::string bytes, uint32_t rows, uint64_t end);

  FileSink* sink_;
  stream::PacketEncoder encoder_;
  std::string frame_;
  bool tail_ = false;  // the sink has failed and only its reserve is left
  uint64_t packets_in_ = 0;
  uint64_t rows_ = 0;
  uint64_t events_ = 0;
  uint64_t too_large_ = 0;
  uint64_t rows_too_large_ = 0;
  bool may_pause_ = false;
  bool paused_ = false;
  std::deque<Kept> kept_;
  size_t kept_bytes_ = 0;
  uint64_t kept_rows_ = 0;      // lost at first, written later
  uint64_t rows_reported_ = 0;  // of those that are lost
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_FILE_OUTPUT_H_
