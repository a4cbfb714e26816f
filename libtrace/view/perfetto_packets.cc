// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/perfetto_packets.h"

#include <zlib.h>

#include "libtrace/view/proto_text.h"

namespace acceltrace::view {
namespace {

// A packet of compressed ones must stay below 512 KB, also where they do not shrink.
constexpr size_t kBlockBytes = 256 << 10;

}  // namespace

struct PerfettoPackets::Deflater {
  Deflater() { ready = deflateInit(&stream, Z_BEST_SPEED) == Z_OK; }
  ~Deflater() {
    if (ready) deflateEnd(&stream);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // False for want of memory, or if it would be larger than packets may be.
  bool Pack(std::string_view bytes, std::string* packed) {
    if (!ready || deflateReset(&stream) != Z_OK) return false;
    packed->resize(deflateBound(&stream, bytes.size()));
    // It does not write to what it reads.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed->data());
    stream.avail_out = static_cast<uInt>(packed->size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return false;
    packed->erase(stream.total_out);
    return packed->size() < bytes.size();
  }

  z_stream stream = {};
  bool ready = false;
};

PerfettoPackets::PerfettoPackets(const Sink& sink)
    : sink_(sink), deflater_(std::make_unique<Deflater>()) {}

PerfettoPackets::~PerfettoPackets() = default;

void PerfettoPackets::Append(perfetto::TracePacket* packet) {
  packet->set_trusted_packet_sequence_id(kPerfettoSequence);
  packet->set_sequence_flags(first_ ? kPerfettoClearState : kPerfettoNeedsState);
  if (first_) packet->set_first_packet_on_sequence(true);
  first_ = false;
  Append(packet->SerializeAsString());
}

void PerfettoPackets::Append(std::string_view packet) {
  // A Trace is its packets, each with the tag of field 1 and its length.
  if (buffer_.size() + packet.size() > kBlockBytes) Flush();
  ProtoText::AppendText(perfetto::Trace::kPacketFieldNumber, packet, &buffer_);
}

void PerfettoPackets::Flush() {
  if (buffer_.empty() || !status_.ok()) return buffer_.clear();
  if (buffer_.size() > kBlockBytes || !deflater_->Pack(buffer_, &packed_)) {
    status_ = sink_(buffer_);
  } else {
    ProtoText packet;
    packet.Text(perfetto::TracePacket::kCompressedPacketsFieldNumber, packed_);
    block_.clear();
    ProtoText::AppendText(perfetto::Trace::kPacketFieldNumber, packet.bytes(), &block_);
    status_ = sink_(block_);
  }
  buffer_.clear();
}

Status PerfettoPackets::Finish() {
  Flush();
  return status_;
}

}  // namespace acceltrace::view
