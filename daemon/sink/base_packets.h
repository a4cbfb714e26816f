// SPDX-License-Identifier: Apache-2.0
//
// Packets that later ones depend on: trace info, devices, strings, processes, op names.
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
      case proto::Packet::kStackFrames:
        return true;
      default:
        return false;
    }
  }

  // Remembers the packet if it is one of these kinds.
  void Note(const proto::Packet& packet);

  // Calls `use` for each of them, in order.
  void Replay(const std::function<void(proto::Packet*)>& use) const;

 private:
  // The oldest tables (processes, op names) and stacks may be dropped when there are too many of
  // that kind.
  enum Kind { kAlways, kTable, kStacks, kNumKinds };
  struct Kept {
    std::string bytes;
    Kind kind;
  };
  static Kind KindOf(const proto::Packet& packet);

  std::deque<Kept> packets_;
  size_t bytes_[kNumKinds] = {};
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_BASE_PACKETS_H_
