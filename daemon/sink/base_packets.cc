// SPDX-License-Identifier: Apache-2.0
#include "daemon/sink/base_packets.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

// Of processes and op names; strings are bounded by the session.
constexpr size_t kMaxTableBytes = 16 << 20;

}  // namespace

void BasePackets::Note(const proto::Packet& packet) {
  if (!IsBase(packet)) return;
  const bool table = packet.has_processes() || packet.has_op_names() ||
                     packet.has_process_events() || packet.has_process_groups();
  packets_.push_back({packet.SerializeAsString(), table});
  if (!table) return;
  table_bytes_ += packets_.back().bytes.size();
  while (table_bytes_ > kMaxTableBytes) {
    const auto oldest =
        std::find_if(packets_.begin(), packets_.end(), [](const Kept& kept) { return kept.table; });
    table_bytes_ -= oldest->bytes.size();
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
