// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/perfetto_packets.h"

namespace acceltrace::view {
namespace {

// A packet of compressed ones must stay below 512 KB, also where they do not shrink.
constexpr size_t kBlockBytes = 256 << 10;

}  // namespace

PerfettoPackets::PerfettoPackets(const Sink& sink) : sink_(sink), buffer_(kBlockBytes) {}

void PerfettoPackets::Append(perfetto::TracePacket* packet) {
  packet->set_trusted_packet_sequence_id(kPerfettoSequence);
  packet->set_sequence_flags(first_ ? kPerfettoClearState : kPerfettoNeedsState);
  if (first_) packet->set_first_packet_on_sequence(true);
  first_ = false;
  Append(packet->SerializeAsString(), "");
}

void PerfettoPackets::Append(std::string_view head, std::string_view rest) {
  // A Trace is its packets, each with the tag of field 1 and its length.
  const size_t size = head.size() + rest.size();
  if (buffer_.size() + size > kBlockBytes) Flush();
  buffer_.Begin(perfetto::Trace::kPacketFieldNumber, size);
  buffer_.Raw(head), buffer_.Raw(rest);
}

void PerfettoPackets::Flush() {
  if (buffer_.size() == 0 || !status_.ok()) return buffer_.Clear();
  std::string_view packed = buffer_.bytes();
  if (packed.size() <= kBlockBytes) packed = deflater_.Pack(packed);
  if (packed.size() >= buffer_.size()) {
    status_ = sink_(buffer_.bytes());
  } else {
    ProtoText packet, block;
    packet.Text(perfetto::TracePacket::kCompressedPacketsFieldNumber, packed);
    block.Text(perfetto::Trace::kPacketFieldNumber, packet.bytes());
    status_ = sink_(block.bytes());
  }
  buffer_.Clear();
}

Status PerfettoPackets::Finish() {
  Flush();
  return status_;
}

}  // namespace acceltrace::view
