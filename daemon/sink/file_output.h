// SPDX-License-Identifier: Apache-2.0
//
// The session's packets to a trace file.
//
// With PauseWhenFull a full disk is no failure: packets are counted as lost until there is room
// again. Then those come first without which later ones would mean nothing.
#ifndef DAEMON_SINK_FILE_OUTPUT_H_
#define DAEMON_SINK_FILE_OUTPUT_H_

#include <deque>
#include <string>

#include "daemon/session/packet_output.h"
#include "daemon/sink/file_sink.h"
#include "libtrace/stream/writer.h"

namespace acceltrace::daemon {

class FileOutput : public PacketOutput {
 public:
  explicit FileOutput(FileSink* sink) : sink_(sink) {}

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  void PauseWhenFull() { may_pause_ = true; }
  // It has no room, and waits for some.
  bool paused() const { return paused_; }
  // The sink's, unless that can be waited for.
  Status failure() const { return may_pause_ && sink_->full() ? Status() : sink_->status(); }
  // While paused: true if it goes on. *loss gets what was lost in between, and its first time.
  struct Gap {
    uint64_t rows = 0;
    int64_t first_ns = 0;
  };
  bool TryResume(Gap* gap);

  // Everything up to here is in the file after this, or counted as lost; what
  // Write is given from now on are the closing packets.
  void BeginClosing();
  // The footer; the file is complete.
  void Close();

  uint64_t packets_in() const { return packets_in_; }
  uint64_t packets_lost() const { return too_large_ + sink_->frames_lost(); }
  uint64_t rows_lost() const { return rows_too_large_ + sink_->events_lost() - kept_rows_; }
  uint64_t rows() const { return rows_; }
  // Of these: events, not strings, processes and names.
  uint64_t events() const { return events_; }

 private:
  // A packet that others need, until it is in the file.
  struct Kept {
    uint64_t end = 0;  // in the file; of one that was never sent there: none
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
