// SPDX-License-Identifier: Apache-2.0
//
// Where finished packets go.
#ifndef DAEMON_SESSION_PACKET_OUTPUT_H_
#define DAEMON_SESSION_PACKET_OUTPUT_H_

#include <cstdint>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

class PacketOutput {
 public:
  virtual ~PacketOutput() = default;

  // first_ns: earliest host time inside, 0 = none; rows: how many events. The
  // packet is given away. Outputs keep their own account of what they could not
  // store; the session goes on.
  virtual void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_PACKET_OUTPUT_H_
