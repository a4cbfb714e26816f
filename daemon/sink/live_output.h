// SPDX-License-Identifier: Apache-2.0
//
// The stream to readers on sockets while it is made.
//
// Each reader gets a stream of its own that begins with everything needed to
// understand the rest. One that does not read fast enough misses whole packets,
// which its sequence numbers show; it never holds up the recording.
#ifndef DAEMON_SINK_LIVE_OUTPUT_H_
#define DAEMON_SINK_LIVE_OUTPUT_H_

#include <cstdint>
#include <list>
#include <string>

#include "daemon/session/packet_output.h"
#include "daemon/sink/base_packets.h"
#include "daemon/unique_fd.h"
#include "libtrace/stream/result.h"
#include "libtrace/stream/writer.h"

namespace acceltrace::daemon {

class LiveOutput : public PacketOutput {
 public:
  static constexpr size_t kMaxReaders = 8;

  // fd: a connected stream socket. Errors: too many readers.
  Status Add(UniqueFd fd, const BasePackets& base);

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  // Sends what the sockets take now; forgets readers that have gone.
  void Pump();

  // The footer, and at most a second for each reader to take the rest.
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
