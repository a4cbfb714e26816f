// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/parts.h"

#include "libtrace/stream/block.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/writer.h"

namespace acceltrace::model {

void PartCounter::Add(const proto::Packet& packet, uint64_t rows) {
  const auto body = static_cast<size_t>(packet.body_case());
  if (packet.has_footer()) {
    const proto::Footer& footer = packet.footer();
    written_ = {};
    // A longer stream is not indexed to its end.
    has_index_ = footer.offset_delta_size() < stream::PacketEncoder::kMaxIndexedPackets;
    for (int i = 0; i < footer.offset_delta_size(); ++i) {
      uint32_t kind = stream::ColumnAt(footer.body(), static_cast<size_t>(i));
      if (kind == proto::Packet::kBlock) {
        kind = stream::BatchOf(stream::ColumnAt(footer.table(), static_cast<size_t>(i)));
      }
      if (kind >= kKinds) continue;
      ++written_[kind].packets;
      written_[kind].rows += stream::ColumnAt(footer.events(), static_cast<size_t>(i));
    }
    return;
  }
  after_accounts_ = packet.has_accounts();
  if (body >= kKinds) return;
  ++read_[body].packets;
  read_[body].rows += rows;
}

Missing PartCounter::Done(const stream::ReadStats& read) const {
  Missing missing;
  if (!read.has_footer || !has_index_) {
    // Accounts come last: if they are there and nothing before them is missing, only the footer is.
    const bool damaged = read.missing_packets > 0 || read.bad_packets > 0;
    missing.anything = damaged || (!read.has_footer && !after_accounts_);
    return missing;
  }
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    const Count& have = read_[kind];
    const Count& had = written_[kind];
    if (have.packets > had.packets) missing.unknown_packets += have.packets - had.packets;
    // Rows of base packets that were told again are not in the index.
    const uint64_t rows = had.rows > have.rows ? had.rows - have.rows : 0;
    const uint64_t packets = had.packets > have.packets ? had.packets - have.packets : 0;
    const bool batch = proto::Packet::kStrings <= kind && kind <= proto::Packet::kLosses;
    if (packets > 0 || (rows > 0 && batch)) missing.parts.push_back({kind, packets, rows});
  }
  return missing;
}

}  // namespace acceltrace::model
