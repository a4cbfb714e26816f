// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/base_packets.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

// Limit of each kind that is not always kept; the session bounds strings.
constexpr size_t kMaxBytes = 16 << 20;

}  // namespace

BasePackets::Kind BasePackets::KindOf(const proto::Packet& packet) {
  switch (packet.body_case()) {
    case proto::Packet::kProcesses:
    case proto::Packet::kOpNames:
    case proto::Packet::kProcessEvents:
    case proto::Packet::kProcessGroups:
      return kTable;
    case proto::Packet::kStackFrames:
      return kStacks;
    default:
      return kAlways;
  }
}

void BasePackets::Note(const proto::Packet& packet) {
  if (!IsBase(packet)) return;
  const Kind kind = KindOf(packet);
  packets_.push_back({packet.SerializeAsString(), kind});
  if (kind == kAlways) return;
  bytes_[kind] += packets_.back().bytes.size();
  while (bytes_[kind] > kMaxBytes) {
    const auto oldest = std::find_if(packets_.begin(), packets_.end(),
                                     [kind](const Kept& kept) { return kept.kind == kind; });
    bytes_[kind] -= oldest->bytes.size();
    packets_.erase(oldest);
  }
}

void BasePackets::Replay(const std::function<void(proto::Packet*)>& use) const {
  for (const Kept& kept : packets_) {
    proto::Packet packet;
    if (packet.ParseFromString(kept.bytes)) use(&packet);
  }
}

}  // namespace acceltrace::daemon
