// SPDX-License-Identifier: Apache-2.0
//
// The packets without which later ones mean nothing: trace info, devices,
// strings, processes, op names.
#ifndef DAEMON_SINK_BASE_PACKETS_H_
#define DAEMON_SINK_BASE_PACKETS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

class BasePackets {
 public:
  static bool IsBase(const proto::Packet& packet) {
    switch (packet.body_case()) {
      case proto::Packet::kInfo:
      case proto::Packet::kDevice:
      case proto::Packet::kStrings:
      case proto::Packet::kProcesses:
      case proto::Packet::kOpNames:
      case proto::Packet::kProcessEvents:
      case proto::Packet::kSystemCounters:
      case proto::Packet::kProcessGroups:
        return true;
      default:
        return false;
    }
  }

  // Remembers the packet if it is one of these.
  void Note(const proto::Packet& packet);

  // Each of them, in order.
  void Replay(const std::function<void(proto::Packet*)>& use) const;

 private:
  struct Kept {
    std::string bytes;
    bool table;  // of processes or op names: the oldest may be forgotten
  };
  std::deque<Kept> packets_;
  size_t table_bytes_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_BASE_PACKETS_H_
