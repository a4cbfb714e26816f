// SPDX-License-Identifier: Apache-2.0
//
// Sends the stream to readers on sockets while it is recorded.
//
// Each reader gets its own stream, which begins with everything needed to understand the rest. A
// reader that is too slow misses whole packets, which the sequence numbers show; it never delays
// the recording.
#ifndef DAEMON_SINK_LIVE_OUTPUT_H_
#define DAEMON_SINK_LIVE_OUTPUT_H_

#include <cstdint>
#include <list>
#include <string>

#include "daemon/base/unique_fd.h"
#include "daemon/session/packet_output.h"
#include "daemon/sink/base_packets.h"
#include "libtrace/base/result.h"
#include "libtrace/stream/file/writer.h"

namespace acceltrace::daemon {

class LiveOutput : public PacketOutput {
 public:
  static constexpr size_t kMaxReaders = 8;

  // fd is a connected stream socket. Fails if there are too many readers.
  Status Add(UniqueFd fd, const BasePackets& base);

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  // Sends what the sockets accept now; drops readers that have disconnected.
  void Pump();

  // Sends the footer, and gives each reader at most a second to take the rest.
  void Close();

  size_t readers() const { return readers_.size(); }
  bool full() const { return readers_.size() >= kMaxReaders; }
  uint64_t packets() const { return packets_; }
  uint64_t dropped() const { return dropped_; }

 private:
  struct Reader {
    UniqueFd fd;
    stream::PacketEncoder encoder;
    std::string waiting;  // encoded, not sent yet
    size_t sent = 0;      // of waiting
    bool gone = false;
  };

  void Encode(Reader* reader, proto::Packet* packet, int64_t first_ns, uint32_t rows);
  static void Send(Reader* reader);

  std::list<Reader> readers_;
  std::string frame_;
  uint64_t packets_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_LIVE_OUTPUT_H_
