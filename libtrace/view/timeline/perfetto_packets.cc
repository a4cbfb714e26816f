// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline/perfetto_packets.h"

#include <string>

namespace acceltrace::view {
namespace {

// A packet of compressed ones must stay below 512 KB, even if its contents do not shrink.
constexpr size_t kBlockBytes = 256 << 10;
// Reserved for the length of a packet: enough for most, so that nothing has to be moved.
constexpr size_t kTagBytes = 1, kLengthBytes = 2;

}  // namespace

PerfettoPackets::PerfettoPackets(const Sink& sink) : sink_(sink), buffer_(kBlockBytes) {}

void PerfettoPackets::Append(perfetto::TracePacket* packet) {
  packet->set_trusted_packet_sequence_id(kPerfettoSequence);
  packet->set_sequence_flags(first_ ? kPerfettoClearState : kPerfettoNeedsState);
  if (first_) packet->set_first_packet_on_sequence(true);
  first_ = false;
  const std::string bytes = packet->SerializeAsString();
  ProtoCursor out = Begin(bytes.size());
  bytes.copy(out.at(), bytes.size());
  End(ProtoCursor(out.at() + bytes.size()));
}

ProtoCursor PerfettoPackets::Begin(size_t most) {
  begin_ = buffer_.size();
  // A Trace consists of its packets, each with the tag of field 1 and its length.
  ProtoCursor out(buffer_.Room(most + 2 * ProtoCursor::kMostNumber));
  out.Begin<perfetto::Trace::kPacketFieldNumber, kLengthBytes>();
  return out;
}

void PerfettoPackets::End(ProtoCursor end) {
  end.End<kLengthBytes>(buffer_.Room(0) + kTagBytes);
  buffer_.Wrote(end.at());
  if (buffer_.size() > kBlockBytes && begin_ > 0) {
    Flush(buffer_.bytes().substr(0, begin_));
    buffer_.DropBefore(begin_);
    begin_ = 0;
  }
}

void PerfettoPackets::Flush(std::string_view block) {
  if (block.empty() || !status_.ok()) return;
  const std::string_view packed = block.size() <= kBlockBytes ? deflater_.Pack(block) : block;
  if (packed.size() >= block.size()) {
    status_ = sink_(block);
    return;
  }
  block_.Clear();
  ProtoCursor out(block_.Room(packed.size() + 4 * ProtoCursor::kMostNumber));
  char* length = out.Begin<perfetto::Trace::kPacketFieldNumber, 3>();
  out.Text<perfetto::TracePacket::kCompressedPacketsFieldNumber>(packed);
  out.End<3>(length);
  block_.Wrote(out.at());
  status_ = sink_(block_.bytes());
}

Status PerfettoPackets::Finish() {
  Flush(buffer_.bytes());
  buffer_.Clear();
  return status_;
}

}  // namespace acceltrace::view
