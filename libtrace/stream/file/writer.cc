// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/writer.h"

#include <algorithm>

#include "libtrace/base/crc32c.h"
#include "libtrace/base/utf8.h"
#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/index_times.h"
#include "libtrace/stream/file/packet_times.h"

namespace acceltrace::stream {

namespace {

void AppendLittleEndian32(uint32_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

bool PacketEncoder::AppendFramed(proto::Packet* packet, std::string* out) {
  packet->set_sync(kSync);
  packet->set_sequence(sequence_ + 1);
  packet->clear_crc32c();  // written by hand: protobuf would omit a checksum of zero
  const size_t summed_bytes = packet->ByteSizeLong();
  const size_t packet_bytes = summed_bytes + kTrailerBytes;
  if (packet_bytes > kMaxPacketBytes) return false;

  const size_t begin = out->size();
  out->push_back(kPacketTag);
  AppendVarint(packet_bytes, out);
  const size_t summed_begin = out->size();
  if (!packet->AppendToString(out)) {
    out->resize(begin);
    return false;
  }
  const uint32_t crc = Crc32c(std::string_view(*out).substr(summed_begin));
  packet->set_crc32c(crc);
  out->append(kCrcTag);
  AppendLittleEndian32(crc, out);
  offset_ += out->size() - begin;
  ++sequence_;
  return true;
}

bool PacketEncoder::Append(proto::Packet* packet, int64_t first_host_ns, uint32_t events,
                           std::string* out) {
  DropZeroColumns(packet);
  ReplaceInvalidUtf8(packet);
  const uint64_t offset = offset_;
  if (!AppendFramed(packet, out)) return false;
  Index(*packet, offset, first_host_ns, events, TimesOf(*packet));
  if (static_cast<size_t>(footer_.offset_delta_size()) >= index_packets_) AppendIndex(out);
  return true;
}

void PacketEncoder::Index(const proto::Packet& packet, uint64_t offset, int64_t first_host_ns,
                          uint32_t events, const PacketTimes& times) {
  total_events_ += events;
  times_.push_back(times);
  footer_.add_offset_delta(offset - last_indexed_offset_);
  footer_.add_body(packet.body_case());
  footer_.add_first_ns_delta(static_cast<int64_t>(static_cast<uint64_t>(first_host_ns) -
                                                  static_cast<uint64_t>(last_indexed_ns_)));
  footer_.add_events(events);
  footer_.add_table(packet.has_packed()         ? packet.packed().body()
                    : packet.has_packed_block() ? packet.packed_block().table()
                                                : packet.block().table());
  footer_.add_checksum(packet.crc32c());
  last_indexed_offset_ = offset;
  last_indexed_ns_ = first_host_ns;
}

void PacketEncoder::AppendIndex(std::string* out) {
  proto::Packet packet;
  footer_.set_total_events(total_events_);
  *packet.mutable_index() = footer_;
  SetIndexTimes(times_, packet.mutable_index());
  DropZeroColumns(&packet);
  const uint64_t offset = offset_, listed = static_cast<uint64_t>(footer_.offset_delta_size());
  if (!AppendFramed(&packet, out)) return;  // cannot be too large
  part_ = std::move(footer_);
  has_part_ = true;
  part_times_ = std::move(times_), times_.clear();
  footer_ = proto::Footer();
  footer_.set_index_offset(offset);
  footer_.set_earlier_packets(part_.earlier_packets() + listed);
  last_indexed_offset_ = 0;
  last_indexed_ns_ = 0;
  Index(packet, offset, 0, 0, {});
}

void PacketEncoder::TruncateTo(uint64_t offset) {
  while (true) {
    if (footer_.offset_delta_size() == 0 && has_part_) {
      footer_ = std::move(part_);
      times_ = std::move(part_times_), part_times_.clear();
      has_part_ = false;
      for (const uint64_t delta : footer_.offset_delta()) last_indexed_offset_ += delta;
      for (const int64_t delta : footer_.first_ns_delta()) last_indexed_ns_ += delta;
    }
    if (footer_.offset_delta_size() == 0 || last_indexed_offset_ < offset) break;
    const int last = footer_.offset_delta_size() - 1;
    last_indexed_offset_ -= footer_.offset_delta(last);
    last_indexed_ns_ -= footer_.first_ns_delta(last);
    total_events_ -= footer_.events(last);
    footer_.mutable_offset_delta()->RemoveLast();
    footer_.mutable_body()->RemoveLast();
    footer_.mutable_first_ns_delta()->RemoveLast();
    footer_.mutable_events()->RemoveLast();
    footer_.mutable_table()->RemoveLast();
    footer_.mutable_checksum()->RemoveLast();
    times_.pop_back();
  }
  offset_ = std::min(offset_, offset);
}

void PacketEncoder::AppendFooter(std::string* out) {
  proto::Packet packet;
  footer_.set_total_events(total_events_);
  *packet.mutable_footer() = footer_;
  SetIndexTimes(times_, packet.mutable_footer());
  DropZeroColumns(&packet);
  (void)AppendFramed(&packet, out);  // cannot be too large
}

}  // namespace acceltrace::stream
