// SPDX-License-Identifier: Apache-2.0
//
// Where finished packets are written.
#ifndef DAEMON_SESSION_PACKET_OUTPUT_H_
#define DAEMON_SESSION_PACKET_OUTPUT_H_

#include <cstdint>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

class PacketOutput {
 public:
  virtual ~PacketOutput() = default;

  // `first_ns` is the earliest host time in the packet, or 0 if it has none; `rows` is its number
  // of events. The packet is consumed. Outputs have their own account of what they could not store;
  // the session continues.
  virtual void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_PACKET_OUTPUT_H_
