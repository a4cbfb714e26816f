// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/few_columns.h"

#include <algorithm>
#include <span>
#include <utility>

#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/table_columns.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

// The times and the processes of host jobs and waits.
constexpr int kOfHostBlocks[] = {
    Block::COLUMN_WAKE_NS,       Block::COLUMN_WAIT_CORRELATION, Block::COLUMN_STATUS,
    Block::COLUMN_KNOWN,         Block::COLUMN_DEVICE,           Block::COLUMN_JOB,
    Block::COLUMN_PID,           Block::COLUMN_SUBMIT_NS,        Block::COLUMN_DOORBELL_NS,
    Block::COLUMN_SUBMIT_END_NS, Block::COLUMN_COMPLETE_NS,      Block::COLUMN_CORRELATION};

bool IsHost(const Block& block) {
  return block.table() == Block::TABLE_HOST_JOBS || block.table() == Block::TABLE_HOST_WAITS;
}

}  // namespace

FewColumns::FewColumns(uint32_t body, std::vector<uint32_t> fields)
    : body_(body), fields_(std::move(fields)), columns_(fields_.size()) {
  const std::span<const TableColumn> about = TableColumnsOf(body);
  std::vector<int> in_blocks;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i] >= about.size()) continue;
    const TableColumn& column = about[fields_[i]];
    columns_[i].column = column.column, columns_[i].narrow = column.narrow;
    in_blocks.push_back(column.column);
    if (!column.by_cause) continue;
    has_stalls_ = true;
    for (int s = 1; s < kMaxStalls; ++s) in_blocks.push_back(column.column + s);
  }
  if (body_ != Packet::kHost) decoder_.Only(std::move(in_blocks));
  host_.Only({std::begin(kOfHostBlocks), std::end(kOfHostBlocks)});
}

bool FewColumns::Open(std::string_view bytes) {
  rows_ = {}, device_ = 0, begin_ = end_ = 0;
  host_jobs_ = host_waits_ = false;
  for (Of& column : columns_) column.part = SIZE_MAX;
  stall_sums_.part = SIZE_MAX;
  if (!PacketDecoder::Parse(bytes, &packet_)) return false;
  const size_t worth_bytes = PacketDecoder::WorthOf(packet_, bytes.size());
  if (packet_.has_block() && IsHost(packet_.block())) {
    return OpenHost(packet_.block(), false);
  }
  if (packet_.has_packed_block() && IsHost(packet_.packed_block())) {
    return packet_.packed_block().codec() == proto::Packed::CODEC_ZSTD &&
           OpenHost(packet_.packed_block(), true);
  }
  if (!decoder_.Decode(worth_bytes, &packet_).ok() || decoder_.rows() == nullptr ||
      static_cast<uint32_t>(packet_.body_case()) != body_) {
    return false;
  }
  rows_ = *decoder_.rows();
  if (packet_.has_commands()) device_ = packet_.commands().device();
  if (packet_.has_jobs()) device_ = packet_.jobs().device();
  return true;
}

bool FewColumns::OpenHost(const Block& block, bool packed) {
  if (body_ != Packet::kHost) return false;
  const bool waits = block.table() == Block::TABLE_HOST_WAITS;
  const uint32_t waiter = proto::HostBatch::kArg1FieldNumber;
  if (waits && std::find(fields_.begin(), fields_.end(), waiter) == fields_.end()) return true;
  if (!(packed ? host_.DecodePacked(block) : host_.Decode(block)).ok()) return false;
  host_jobs_ = !waits, host_waits_ = waits;
  rows_.set_rows(host_.rows());
  return true;
}

size_t FewColumns::Next() {
  begin_ = end_;
  if (!host_jobs_ && !host_waits_) end_ = std::min(rows(), begin_ + kAtOnce);
  return end_ - begin_;
}

const uint64_t* FewColumns::Column(size_t field) {
  Of& column = columns_[field];
  const BlockColumn& of = rows_.of(column.column);
  if (of.wide != nullptr && !column.narrow) return of.wide + begin_;
  if (column.part == begin_) return column.values.data();
  column.part = begin_;
  const size_t rows = end_ - begin_;
  column.values.resize(kAtOnce);
  of.Read(begin_, rows, column.values.data());
  for (size_t i = 0; column.narrow && i < rows; ++i) {
    column.values[i] = static_cast<uint32_t>(column.values[i]);
  }
  return column.values.data();
}

const uint64_t* FewColumns::StallSums() {
  if (stall_sums_.part == begin_) return stall_sums_.values.data();
  stall_sums_.part = begin_;
  stall_sums_.values.assign(kAtOnce, 0);
  for (size_t s = 0; s < stalls(); ++s) {
    const BlockColumn& of = rows_.of(Block::COLUMN_STALL_TICKS + static_cast<int>(s));
    for (size_t i = begin_; i < end_; ++i) stall_sums_.values[i - begin_] += of[i];
  }
  return stall_sums_.values.data();
}

}  // namespace acceltrace::stream
