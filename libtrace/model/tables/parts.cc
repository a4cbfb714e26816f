// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/parts.h"

#include <algorithm>

#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::model {
namespace {

// Limit of footers before the index had several parts.
constexpr int kMaxIndexedPackets = 450'000;

}  // namespace

void PartCounter::Add(const proto::Packet& packet, uint64_t rows) {
  const auto body = static_cast<size_t>(packet.body_case());
  if (packet.has_index()) return List(packet.index());
  if (packet.has_footer()) {
    const proto::Footer& footer = packet.footer();
    // If a part of it is missing, or the version that wrote it did not index to the end, nothing is
    // known.
    has_index_ = footer.earlier_packets() == listed_packets_ &&
                 footer.offset_delta_size() < kMaxIndexedPackets;
    List(footer);
    written_ = listed_;
    listed_ = {};
    listed_packets_ = 0;
    return;
  }
  after_accounts_ = packet.has_accounts();
  rows_ += rows;
  if (after_accounts_) rows_put_out_ = 0;
  for (const auto& hop : packet.accounts().hops()) {
    if (hop.name() == "output") rows_put_out_ += hop.out();
  }
  if (body >= kKinds) return;
  ++read_[body].packets;
  read_[body].rows += rows;
}

void PartCounter::List(const proto::Footer& footer) {
  listed_packets_ += static_cast<uint64_t>(footer.offset_delta_size());
  for (size_t i = 0; i < static_cast<size_t>(footer.offset_delta_size()); ++i) {
    uint32_t kind = stream::ColumnAt(footer.body(), i);
    const uint32_t table = stream::ColumnAt(footer.table(), i);
    if (kind == proto::Packet::kBlock || kind == proto::Packet::kPackedBlock) {
      kind = stream::BatchOf(table);
    } else if (kind == proto::Packet::kPacked) {
      kind = table;
    }
    if (kind >= kKinds) continue;
    ++listed_[kind].packets;
    listed_[kind].rows += stream::ColumnAt(footer.events(), i);
  }
}

Missing PartCounter::Done(const stream::ReadStats& read) const {
  Missing missing;
  missing.rows = rows_put_out_ > rows_ ? rows_put_out_ - rows_ : 0;
  if (!read.has_footer || !has_index_) {
    // Accounts come last: if they exist and nothing before them is missing, only the footer is
    // missing.
    const bool damaged = read.missing_packets > 0 || read.bad_packets > 0;
    missing.anything = damaged || missing.rows > 0 || (!read.has_footer && !after_accounts_);
    return missing;
  }
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    const Count& have = read_[kind];
    const Count& had = written_[kind];
    if (have.packets > had.packets) missing.unknown_packets += have.packets - had.packets;
    // Repeated rows of base packets are not in the index.
    const uint64_t rows = had.rows > have.rows ? had.rows - have.rows : 0;
    const uint64_t packets = had.packets > have.packets ? had.packets - have.packets : 0;
    const bool batch =
        (proto::Packet::kStrings <= kind && kind <= proto::Packet::kLosses) ||
        (proto::Packet::kThreadRuns <= kind && kind <= proto::Packet::kProcessGroups) ||
        kind == proto::Packet::kStackFrames || kind == proto::Packet::kCallStacks;
    if (packets > 0 || (rows > 0 && batch)) missing.parts.push_back({kind, packets, rows});
  }
  // Rows that the index lists as missing are reported above; the rest is missing from the index,
  // too.
  for (const Missing::Part& part : missing.parts) {
    missing.rows -= std::min(missing.rows, part.rows);
  }
  missing.anything = missing.rows > 0;
  return missing;
}

}  // namespace acceltrace::model
