// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/few_columns.h"

#include <algorithm>
#include <span>
#include <utility>

#include "libtrace/stream/batch_fields.h"
#include "libtrace/stream/block.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/numbers.h"
#include "libtrace/stream/packed.h"
#include "libtrace/stream/validate.h"
#include "libtrace/stream/varints.h"
#include "libtrace/stream/wire.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

constexpr uint32_t kStalls = proto::CommandBatch::kStallTicksFieldNumber;
// Of host jobs and waits: what says when each was, and whose.
constexpr int kOfHostJobs[] = {
    Block::COLUMN_WAKE_NS,       Block::COLUMN_WAIT_CORRELATION, Block::COLUMN_STATUS,
    Block::COLUMN_KNOWN,         Block::COLUMN_DEVICE,           Block::COLUMN_JOB,
    Block::COLUMN_PID,           Block::COLUMN_SUBMIT_NS,        Block::COLUMN_DOORBELL_NS,
    Block::COLUMN_SUBMIT_END_NS, Block::COLUMN_COMPLETE_NS,      Block::COLUMN_CORRELATION};

}  // namespace

FewColumns::FewColumns(uint32_t body, std::vector<uint32_t> fields)
    : body_(body), fields_(std::move(fields)), columns_(fields_.size()) {
  const std::span<const BatchField> about = BatchFields(body);
  std::vector<int> in_blocks(std::begin(kOfHostJobs), std::end(kOfHostJobs));
  if (body != Packet::kHost) in_blocks.clear();
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (body == Packet::kCommands && fields_[i] == kStalls) {
      columns_[i].kind = FieldKind::kWide, columns_[i].in_block = Block::COLUMN_STALL_TICKS;
    } else if (fields_[i] < about.size()) {
      columns_[i].kind = about[fields_[i]].kind, columns_[i].in_block = about[fields_[i]].in_block;
    } else {
      continue;
    }
    if (body == Packet::kHost) continue;
    in_blocks.push_back(columns_[i].in_block);
    if (body != Packet::kCommands || fields_[i] != kStalls) continue;
    stall_field_ = i;
    for (int s = 1; s < kMaxStalls; ++s) in_blocks.push_back(Block::COLUMN_STALL_TICKS + s);
  }
  block_.Only(std::move(in_blocks));
}

bool FewColumns::Open(const SomeOfPacket& packet) {
  return Open(packet.number(), packet.body(), packet.packet_bytes());
}

bool FewColumns::Open(uint32_t number, std::string_view body, size_t worth) {
  rows_ = begin_ = end_ = stalls_ = 0;
  device_ = 0, host_jobs_ = host_waits_ = false, fine_ = true;
  is_block_ = number == Packet::kBlock || number == Packet::kPackedBlock;
  for (Of& column : columns_) {
    column.there = false, column.left = {}, column.of_block = {};
    column.at = 0, column.before = 0, column.part = SIZE_MAX;
  }
  if (number == Packet::kBlock) return OpenBlock(body, false, worth);
  if (number == Packet::kPackedBlock) return OpenBlock(body, true, kPackedWorth * worth);
  if (number == Packet::kPacked) return OpenPacked(body, kPackedWorth * worth);
  return number == body_ && OpenBatch(body, worth);
}

bool FewColumns::OpenPacked(std::string_view bytes, size_t worth) {
  PackedBody packed;
  return FindPackedBody(bytes, &packed) && packed.body == body_ &&
         Decompress(packed.data, packed.size, &unpacked_) && OpenBatch(unpacked_, worth);
}

bool FewColumns::OpenBatch(std::string_view batch, size_t worth) {
  size_t parts = 0;
  for (WireField field; !batch.empty(); ++parts) {
    if (!TakeField(&batch, &field) || parts > kMaxParts) return false;
    if (body_ != Packet::kHost && body_ != Packet::kApi && field.number() == 1) {
      if (!field.is_number()) return false;
      device_ = static_cast<uint32_t>(field.value);
      continue;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i] != field.number()) continue;
      // Written at once, and no shorter than it says.
      if (!field.has_length() || columns_[i].there || field.content.empty() ||
          static_cast<uint8_t>(field.content.back()) >= 0x80) {
        return false;
      }
      columns_[i].there = true, columns_[i].left = field.content;
    }
  }
  if (device_ >= kMaxDevices || !columns_[0].there) return false;
  rows_ = CountNumbers(columns_[0].left);
  const auto kind = static_cast<Packet::BodyCase>(body_);
  if (rows_ > kMaxRows || rows_ > kFreeRows + worth / LeastRowBytes(kind)) return false;
  size_t values = 0;
  for (const Of& column : columns_) {
    const size_t count = column.there ? CountNumbers(column.left) : 0;
    values += count;
    if (stall_field_ != SIZE_MAX && &column == &columns_[stall_field_]) {
      stalls_ = rows_ == 0 ? 0 : count / rows_;
      if (stalls_ * rows_ != count || stalls_ > kMaxStalls) return false;
    } else if (column.there && count != rows_) {
      return false;
    }
  }
  return values <= kMaxValues;
}

bool FewColumns::OpenBlock(std::string_view bytes, bool packed, size_t worth) {
  Block block;
  if (!block.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (packed && block.codec() != proto::Packed::CODEC_ZSTD) return false;
  if (static_cast<uint32_t>(BatchOf(block.table())) != body_) return false;
  if (block.device() >= kMaxDevices || block.stalls() > kMaxStalls) return false;
  const bool waits = block.table() == Block::TABLE_HOST_WAITS;
  const uint32_t waiter = proto::HostBatch::kArg1FieldNumber;
  if (waits && std::find(fields_.begin(), fields_.end(), waiter) == fields_.end()) return true;
  if (!(packed ? block_.DecodePacked(block) : block_.Decode(block)).ok()) return false;
  device_ = block.device();
  host_jobs_ = block.table() == Block::TABLE_HOST_JOBS, host_waits_ = waits;
  if (!host_jobs_ && !waits &&
      block.rows() > kFreeRows + worth / LeastRowBytes(BatchOf(block.table()))) {
    return false;
  }
  rows_ = block.rows();
  if (host_jobs_ || waits) return true;
  if (stall_field_ != SIZE_MAX) stalls_ = block.stalls();
  for (Of& column : columns_) {
    column.there = block_.has(column.in_block);
    column.of_block = block_.of(column.in_block);
  }
  return true;
}

size_t FewColumns::Next() {
  begin_ = end_;
  if (!host_jobs_ && !host_waits_) end_ = std::min(rows_, begin_ + kAtOnce);
  return end_ - begin_;
}

void FewColumns::Decode(Of* of) {
  Of& column = *of;
  const size_t rows = end_ - begin_;
  column.values.resize(kAtOnce);
  if (column.kind != FieldKind::kDeltas && column.at < begin_) {
    SkipNumbers(begin_ - column.at, &column.left);
    column.at = begin_;
  }
  uint64_t* const values = column.values.data();
  // Differences before this part count, too.
  while (column.at < end_) {
    const size_t count = std::min(column.at < begin_ ? begin_ - column.at : rows, kAtOnce);
    const size_t left = column.left.size();
    if (!TakeNumbers(count, &column.left, values)) {
      fine_ = false;
      std::fill_n(values, kAtOnce, 0);
      return;
    }
    column.at += count;
    if (column.kind == FieldKind::kDeltas) {
      SumZigzags(values, count, &column.before);
    } else if (column.kind == FieldKind::kSigned) {
      FromZigzags(values, count);
    } else if (column.kind == FieldKind::kNarrow && left - column.left.size() >= count + 4) {
      // One of them may have five bytes.
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(values[i]);
    }
  }
}

const uint64_t* FewColumns::Column(size_t field) {
  Of& column = columns_[field];
  if (column.of_block.wide != nullptr && column.kind != FieldKind::kNarrow) {
    return column.of_block.wide + begin_;
  }
  if (column.part == begin_) return column.values.data();
  column.part = begin_;
  if (is_block_ && column.there) {
    const size_t rows = end_ - begin_;
    column.values.resize(kAtOnce);
    column.of_block.Read(begin_, rows, column.values.data());
    for (size_t i = 0; column.kind == FieldKind::kNarrow && i < rows; ++i) {
      column.values[i] = static_cast<uint32_t>(column.values[i]);
    }
  } else if (column.there) {
    Decode(&column);
  } else {
    column.values.assign(kAtOnce, 0);
  }
  return column.values.data();
}

const uint64_t* FewColumns::StallSums() {
  const size_t rows = end_ - begin_;
  Of& column = columns_[stall_field_];
  if (column.part == begin_) return column.values.data();
  column.part = begin_;
  column.values.assign(kAtOnce, 0);
  if (host_jobs_ || stalls_ == 0) return column.values.data();
  if (is_block_ || !column.there) {
    for (size_t s = 0; s < stalls_; ++s) {
      const BlockColumn of = block_.of(Block::COLUMN_STALL_TICKS + static_cast<int>(s));
      for (size_t i = 0; i < rows; ++i) column.values[i] += of[begin_ + i];
    }
    return column.values.data();
  }
  stall_ticks_.resize(kAtOnce * stalls_);
  SkipNumbers((begin_ - column.at) * stalls_, &column.left);
  column.at = end_;
  if (!TakeNumbers(rows * stalls_, &column.left, stall_ticks_.data())) {
    fine_ = false;
    return column.values.data();
  }
  const uint64_t* ticks = stall_ticks_.data();
  for (size_t i = 0; i < rows; ++i) {
    for (size_t s = 0; s < stalls_; ++s) column.values[i] += *ticks++;
  }
  return column.values.data();
}

}  // namespace acceltrace::stream
