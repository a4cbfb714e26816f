// SPDX-License-Identifier: Apache-2.0
//
// The session's packets to a trace file.
#ifndef DAEMON_SINK_FILE_OUTPUT_H_
#define DAEMON_SINK_FILE_OUTPUT_H_

#include <string>

#include "daemon/session/packet_output.h"
#include "daemon/sink/file_sink.h"
#include "libtrace/stream/writer.h"

namespace acceltrace::daemon {

class FileOutput : public PacketOutput {
 public:
  explicit FileOutput(FileSink* sink) : sink_(sink) {}

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  // Everything up to here is in the file after this, or counted as lost; what
  // Write is given from now on are the closing packets.
  void BeginClosing();
  // The footer; the file is complete.
  void Close();

  uint64_t packets_in() const { return packets_in_; }
  uint64_t packets_lost() const { return too_large_ + sink_->frames_lost(); }
  uint64_t rows_lost() const { return rows_too_large_ + sink_->events_lost(); }
  uint64_t rows() const { return rows_; }
  // Of these: events, not strings, processes and names.
  uint64_t events() const { return events_; }

 private:
  void Put(uint32_t rows);

  FileSink* sink_;
  stream::PacketEncoder encoder_;
  std::string frame_;
  bool tail_ = false;  // the sink has failed and only its reserve is left
  uint64_t packets_in_ = 0;
  uint64_t rows_ = 0;
  uint64_t events_ = 0;
  uint64_t too_large_ = 0;
  uint64_t rows_too_large_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_FILE_OUTPUT_H_
