// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/block_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "libtrace/stream/block.h"
#include "libtrace/stream/validate.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

Status Bad(const char* what) { return Status::Error(std::string("invalid block: ") + what); }

template <typename Fine>
bool All(const BlockColumns& columns, int column, const Fine& fine) {
  const BlockColumn values = columns.of(column);
  if (values.narrow == nullptr && values.wide == nullptr) return fine(values.base);
  size_t row = 0;
  while (row < columns.rows() && fine(values[row])) ++row;
  return row == columns.rows();
}

bool AreFlags(const BlockColumns& columns, int column) {
  return All(columns, column, [](uint64_t value) { return static_cast<uint32_t>(value) <= 1; });
}

// What Validate() asks of the batch.
Status Check(const BlockColumns& columns, uint32_t table) {
  const auto is_time = [](uint64_t ns) { return ns <= static_cast<uint64_t>(kMaxTimeNs); };
  switch (table) {
    case Block::TABLE_COMMANDS: {
      const bool fine = All(columns, Block::COLUMN_UNIT, [](uint64_t unit) {
        return static_cast<uint32_t>(unit) < uint32_t{kMaxUnits};
      });
      return fine ? Status() : Bad("unit number too large");
    }
    case Block::TABLE_DEVICE_JOBS:
      return AreFlags(columns, Block::COLUMN_HAS_IRQ) ? Status() : Bad("flag that is not 0 or 1");
    default:
      if (!All(columns, Block::COLUMN_BEGIN_NS, is_time) ||
          !All(columns, Block::COLUMN_DURATION_NS, is_time)) {
        return Bad("API call at an impossible time");
      }
      return AreFlags(columns, Block::COLUMN_OPEN) && AreFlags(columns, Block::COLUMN_BEGAN_BEFORE)
                 ? Status()
                 : Bad("flag that is not 0 or 1");
  }
}

}  // namespace

bool BlockRows::Knows(const proto::Packet& packet) {
  if (!packet.has_block() && !packet.has_packed_block()) return false;
  const Block& block = packet.has_block() ? packet.block() : packet.packed_block();
  if (packet.has_packed_block() && block.codec() != proto::Packed::CODEC_ZSTD) return false;
  return block.table() == Block::TABLE_COMMANDS || block.table() == Block::TABLE_DEVICE_JOBS ||
         block.table() == Block::TABLE_API_CALLS;
}

Status BlockRows::Decode(size_t worth, proto::Packet* packet) {
  const bool packed = packet->has_packed_block();
  const Block block =
      std::move(packed ? *packet->mutable_packed_block() : *packet->mutable_block());
  packet->clear_body();
  rows_ = {};
  rows_.set_rows(block.rows());
  if (block.device() >= kMaxDevices) return Bad("device number too large");
  if (block.stalls() > kMaxStalls) return Bad("too many stall causes");
  const Status status = packed ? columns_.DecodePacked(block) : columns_.Decode(block);
  if (!status.ok()) return status;
  if (block.rows() > kFreeRows + worth / LeastRowBytes(BatchOf(block.table()))) {
    return Bad("more rows than its bytes can hold");
  }
  if (Status check = Check(columns_, block.table()); !check.ok()) return check;
  for (int column = 0; column < static_cast<int>(BlockColumns::kKnown); ++column) {
    if (columns_.has(column)) rows_.Set(column, columns_.of(column));
  }
  switch (block.table()) {
    case Block::TABLE_COMMANDS:
      packet->mutable_commands()->set_device(block.device());
      rows_.set_stalls(block.stalls());
      break;
    case Block::TABLE_DEVICE_JOBS:
      packet->mutable_jobs()->set_device(block.device());
      break;
    default:
      packet->mutable_api();
  }
  // Batches have differences: a column that is absent of a block is there, and zero.
  if (!rows_.has(Block::COLUMN_RECORD)) rows_.SetZeros(Block::COLUMN_RECORD);
  return {};
}

}  // namespace acceltrace::stream
