// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/row_decoder.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>

#include <numeric>
#include <string>
#include <type_traits>

#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/table_columns.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Block;
using proto::HostBatch;
using proto::Packet;

Status Bad(const char* what) { return Status::Error(std::string("invalid rows: ") + what); }

template <typename Fine>
bool All(const TableRows& rows, int column, const Fine& fine) {
  const BlockColumn& values = rows.of(column);
  if (values.narrow == nullptr && values.wide == nullptr) return fine(values.base);
  size_t row = 0;
  while (row < rows.rows() && fine(values[row])) ++row;
  return row == rows.rows();
}

bool AllBelow(const TableRows& rows, int column, uint32_t limit) {
  return All(rows, column,
             [limit](uint64_t value) { return static_cast<uint32_t>(value) < limit; });
}

bool AreFlags(const TableRows& rows, int column) { return AllBelow(rows, column, 2); }

bool AreTimes(const TableRows& rows, int column) {
  return All(rows, column, [](uint64_t ns) { return ns <= static_cast<uint64_t>(kMaxTimeNs); });
}

template <typename T>
void CopyAs(const Message& batch, const FieldDescriptor& field, std::vector<uint64_t>* values) {
  for (const T value : batch.GetReflection()->GetRepeatedFieldRef<T>(batch, &field)) {
    values->push_back(static_cast<std::make_unsigned_t<T>>(value));
  }
}

void CopyValues(const Message& batch, const FieldDescriptor& field, std::vector<uint64_t>* values) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return CopyAs<uint32_t>(batch, field, values);
    case FieldDescriptor::CPPTYPE_INT32:
      return CopyAs<int32_t>(batch, field, values);
    case FieldDescriptor::CPPTYPE_INT64:
      return CopyAs<int64_t>(batch, field, values);
    default:
      return CopyAs<uint64_t>(batch, field, values);
  }
}

uint32_t DeviceOf(const Packet& packet) {
  if (packet.has_commands()) return packet.commands().device();
  return packet.has_jobs() ? packet.jobs().device() : 0;
}

bool IsHost(uint32_t table) {
  return table == Block::TABLE_HOST_JOBS || table == Block::TABLE_HOST_WAITS;
}

}  // namespace

bool RowDecoder::Knows(const Packet& packet) {
  if (packet.has_block()) return BatchOf(packet.block().table()) != Packet::BODY_NOT_SET;
  if (packet.has_packed_block()) {
    return packet.packed_block().codec() == proto::Packed::CODEC_ZSTD &&
           BatchOf(packet.packed_block().table()) != Packet::BODY_NOT_SET;
  }
  return !TableColumnsOf(static_cast<uint32_t>(packet.body_case())).empty();
}

Status RowDecoder::Decode(size_t worth_bytes, Packet* packet) {
  rows_ = {};
  written_rows_ = 0;
  const bool block = packet->has_block() || packet->has_packed_block();
  Status status = block ? DecodeBlock(packet) : DecodeBatch(worth_bytes, *packet);
  if (!status.ok()) return status;
  if (DeviceOf(*packet) >= kMaxDevices) return Bad("device number too large");
  if (rows_.rows() > kMaxRows ||
      rows_.rows() > kFreeRows + worth_bytes / LeastRowBytes(packet->body_case())) {
    return Bad("more rows than the packet's bytes can hold");
  }
  return Check(static_cast<uint32_t>(packet->body_case()));
}

Status RowDecoder::DecodeBlock(Packet* packet) {
  const bool packed = packet->has_packed_block();
  const Block block =
      std::move(packed ? *packet->mutable_packed_block() : *packet->mutable_block());
  packet->clear_body();
  written_rows_ = block.rows();
  if (block.device() >= kMaxDevices) return Bad("device number too large");
  if (block.stalls() > kMaxStalls) return Bad("too many stall causes");
  Status status = packed ? block_.DecodePacked(block) : block_.Decode(block);
  if (!status.ok()) return status;
  switch (block.table()) {
    case Block::TABLE_COMMANDS:
      packet->mutable_commands()->set_device(block.device());
      rows_.set_stalls(block.stalls());
      break;
    case Block::TABLE_DEVICE_JOBS:
      packet->mutable_jobs()->set_device(block.device());
      break;
    case Block::TABLE_API_CALLS:
      packet->mutable_api();
      break;
    default:
      packet->mutable_host();
  }
  if (IsHost(block.table())) {
    host_.Expand(block_, block.table(), &rows_);
    return {};
  }
  rows_.set_rows(block_.rows());
  for (int column = 0; column < static_cast<int>(BlockColumns::kKnown); ++column) {
    if (block_.has(column)) rows_.Set(column, block_.of(column));
  }
  // A block without record numbers means that all are zero; a batch without them has none.
  if (!rows_.has(Block::COLUMN_RECORD)) rows_.Set(Block::COLUMN_RECORD, {});
  return {};
}

std::vector<uint64_t>& RowDecoder::NextWide() {
  if (wides_ == wide_.size()) wide_.emplace_back();
  wide_[wides_].clear();
  return wide_[wides_++];
}

// A batch has the stalls of a row together, a block those of a cause.
Status RowDecoder::SetStalls(const std::vector<uint64_t>& by_row) {
  const size_t rows = rows_.rows();
  if (rows == 0 || by_row.size() % rows != 0 || by_row.size() / rows > kMaxStalls) {
    return Bad("stall columns do not fit the commands");
  }
  const size_t causes = by_row.size() / rows;
  rows_.set_stalls(causes);
  for (size_t s = 0; s < causes; ++s) {
    std::vector<uint64_t>& of_cause = NextWide();
    for (size_t row = 0; row < rows; ++row) of_cause.push_back(by_row[row * causes + s]);
    rows_.Set(Block::COLUMN_STALL_TICKS + static_cast<int>(s), {0, nullptr, of_cause.data()});
  }
  return {};
}

Status RowDecoder::DecodeBatch(size_t worth_bytes, const Packet& packet) {
  if (Status status = Validate(packet, worth_bytes); !status.ok()) return status;
  const google::protobuf::Message& batch = *Body(packet);
  const google::protobuf::Reflection& reflection = *batch.GetReflection();
  written_rows_ = Rows(packet);
  rows_.set_rows(written_rows_);
  wides_ = 0;
  for (const TableColumn& column : TableColumnsOf(static_cast<uint32_t>(packet.body_case()))) {
    if (column.field == nullptr || reflection.FieldSize(batch, column.field) == 0) continue;
    std::vector<uint64_t>& values = NextWide();
    CopyValues(batch, *column.field, &values);
    if (column.by_cause) {
      if (Status status = SetStalls(values); !status.ok()) return status;
      continue;
    }
    if (column.deltas) std::partial_sum(values.begin(), values.end(), values.begin());
    rows_.Set(column.column, {0, nullptr, values.data()});
  }
  return {};
}

// Checks what must hold for each row of any packet.
Status RowDecoder::Check(uint32_t body) const {
  switch (body) {
    case Packet::kCommands:
      return AllBelow(rows_, Block::COLUMN_UNIT, kMaxUnits) ? Status()
                                                            : Bad("unit number too large");
    case Packet::kJobs:
      return AreFlags(rows_, Block::COLUMN_HAS_IRQ) ? Status()
                                                    : Bad("flag that is neither 0 nor 1");
    case Packet::kHost:
      if (!AllBelow(rows_, HostBatch::kKindFieldNumber, HostBatch::Kind_MAX + 1)) {
        return Bad("unknown kind of host event");
      }
      if (!AllBelow(rows_, HostBatch::kDeviceFieldNumber, kMaxDevices)) {
        return Bad("device number too large");
      }
      if (!AreFlags(rows_, HostBatch::kInFlightFieldNumber)) {
        return Bad("flag that is neither 0 nor 1");
      }
      return AreTimes(rows_, HostBatch::kTimeNsDeltaFieldNumber)
                 ? Status()
                 : Bad("host event at an impossible time");
    default:
      if (!AreTimes(rows_, Block::COLUMN_BEGIN_NS) || !AreTimes(rows_, Block::COLUMN_DURATION_NS)) {
        return Bad("API call at an impossible time");
      }
      return AreFlags(rows_, Block::COLUMN_OPEN) && AreFlags(rows_, Block::COLUMN_BEGAN_BEFORE)
                 ? Status()
                 : Bad("flag that is neither 0 nor 1");
  }
}

}  // namespace acceltrace::stream
