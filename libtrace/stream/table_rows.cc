// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/table_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "libtrace/stream/column_values.h"
#include "libtrace/stream/numbers.h"

namespace acceltrace::stream {

using google::protobuf::RepeatedField;
using proto::Block;
namespace {

constexpr size_t kAtOnce = 512;  // rows

const uint8_t* AsBytes(const void* values) { return static_cast<const uint8_t*>(values); }

// How long each of the first `rows` numbers is, if they are all the same; else 0. At least one row.
size_t LengthOfSame(size_t rows, std::string_view bytes) {
  size_t length = 1;
  while (length < bytes.size() && static_cast<uint8_t>(bytes[length - 1]) >= 0x80) ++length;
  if (bytes.size() / rows < length) return 0;
  const bool same = std::memcmp(bytes.data(), bytes.data() + length, (rows - 1) * length) == 0;
  return same ? length : 0;
}

}  // namespace

// Of sound batches: each column has all rows, or none.
template <typename T>
void TableRows::Plain(int column, const RepeatedField<T>& values) {
  if (values.empty()) return;
  columns_[column] = {sizeof(T) == sizeof(uint32_t) ? Kind::kNarrow : Kind::kWide, values.data()};
  rows_ = std::max(rows_, static_cast<size_t>(values.size()));
}

void TableRows::Deltas(int column, const RepeatedField<int64_t>& values) {
  if (values.empty()) return;
  columns_[column] = {Kind::kDeltas, values.data()};
  rows_ = std::max(rows_, static_cast<size_t>(values.size()));
}

void TableRows::SetNumbers(int column, std::string_view bytes, bool narrow) {
  const Kind kind = bytes.size() == rows_ ? Kind::kBytes
                    : narrow              ? Kind::kNarrowNumbers
                                          : Kind::kNumbers;
  columns_[column] = {kind, bytes.data(), 1, 0, bytes.size()};
}

void TableRows::Set(int column, const BlockColumn& of) {
  if (of.narrow != nullptr) {
    columns_[column] = {Kind::kNarrow, of.narrow, 1, of.base};
  } else if (of.wide != nullptr) {
    columns_[column] = {Kind::kWide, of.wide};
  } else {
    columns_[column] = {Kind::kConstant, nullptr, 1, of.base};
  }
}

void TableRows::SetStalls(size_t stalls, const uint64_t* values) {
  stalls_ = stalls;
  for (size_t i = 0; i < stalls_; ++i) {
    columns_[Block::COLUMN_STALL_TICKS + i] = {Kind::kWide, values + i, stalls_};
  }
}

// The next rows of a column, which then begins behind them.
void TableRows::ReadPart(size_t rows, Column* from, uint64_t* out) {
  const auto* values = static_cast<const uint64_t*>(from->values);
  switch (from->kind) {
    case Kind::kAbsent:
    case Kind::kConstant:
      std::fill_n(out, rows, from->before);
      return;
    case Kind::kNarrow:
      FromNumbers(AsBytes(values), rows, from->before, sizeof(uint32_t), out);
      from->values = static_cast<const uint32_t*>(from->values) + rows;
      return;
    case Kind::kWide:
      if (from->stride == 1) std::copy_n(values, rows, out);
      for (size_t row = 0; from->stride != 1 && row < rows; ++row) {
        out[row] = values[row * from->stride];
      }
      from->values = values + rows * from->stride;
      return;
    case Kind::kDeltas:
      for (size_t row = 0; row < rows; ++row) out[row] = from->before += values[row];
      from->values = values + rows;
      return;
    case Kind::kBytes:
      FromNumbers(AsBytes(values), rows, 0, 1, out);
      from->values = AsBytes(values) + rows;
      return;
    case Kind::kNumbers:
    case Kind::kNarrowNumbers: {
      std::string_view bytes(static_cast<const char*>(from->values), from->bytes);
      // As those of a process or a thread are.
      const size_t length = rows > 0 ? LengthOfSame(rows, bytes) : 0;
      if (!TakeNumbers(length > 0 ? 1 : rows, &bytes, out)) std::fill_n(out, rows, 0);  // sound
      if (length > 0) bytes.remove_prefix((rows - 1) * length), FillAll(out, rows, out[0]);
      from->values = bytes.data(), from->bytes = bytes.size();
      if (from->kind == Kind::kNumbers) return;
      for (size_t row = 0; row < rows; ++row) out[row] = static_cast<uint32_t>(out[row]);
    }
  }
}

template <typename T>
void TableRows::ReadCut(Column from, T* out) const {
  uint64_t values[kAtOnce];
  for (size_t row = 0; row < rows_; row += kAtOnce) {
    const size_t rows = std::min(kAtOnce, rows_ - row);
    ReadPart(rows, &from, values);
    ToNumbers(values, rows, 0, sizeof(T), reinterpret_cast<uint8_t*>(out + row));
  }
}

void TableRows::ReadWide(int column, uint64_t* out) const {
  Column from = columns_[column];
  ReadPart(rows_, &from, out);
}

void TableRows::ReadNarrow(int column, uint32_t* out) const {
  const Column& from = columns_[column];
  if (from.kind == Kind::kBytes) {
    FromNumbers(AsBytes(from.values), rows_, 0, 1, out);
  } else if (from.kind == Kind::kNarrow) {
    FromNumbers(AsBytes(from.values), rows_, from.before, sizeof(*out), out);
  } else {
    ReadCut(from, out);
  }
}

void TableRows::ReadBytes(int column, uint8_t* out) const {
  const Column& from = columns_[column];
  if (from.kind == Kind::kBytes) return std::copy_n(AsBytes(from.values), rows_, out), void();
  ReadCut(from, out);
}

void TableRows::ReadStalls(uint64_t* out) const {
  if (stalls_ == 0) return;
  // Those of batches are row by row already.
  if (const uint64_t* by_row = StallsByRow(); by_row != nullptr) {
    std::copy_n(by_row, rows_ * stalls_, out);
    return;
  }
  std::vector<uint64_t> values(rows_);
  for (size_t s = 0; s < stalls_; ++s) {
    Read(Block::COLUMN_STALL_TICKS + static_cast<int>(s), values.data());
    for (size_t row = 0; row < rows_; ++row) out[row * stalls_ + s] = values[row];
  }
}

TableRows TableRows::Take(size_t most) {
  TableRows first = *this;
  const size_t rows = first.rows_ = std::min(most, rows_);
  rows_ -= rows;
  for (Column& column : columns_) {
    if (column.kind == Kind::kNarrow) {
      column.values = static_cast<const uint32_t*>(column.values) + rows;
    } else if (column.kind == Kind::kBytes) {
      column.values = static_cast<const uint8_t*>(column.values) + rows;
    } else if (column.kind == Kind::kNumbers || column.kind == Kind::kNarrowNumbers) {
      std::string_view bytes(static_cast<const char*>(column.values), column.bytes);
      SkipNumbers(rows, &bytes);
      column.values = bytes.data(), column.bytes = bytes.size();
    } else if (column.values != nullptr) {
      const auto* values = static_cast<const uint64_t*>(column.values);
      for (size_t row = 0; column.kind == Kind::kDeltas && row < rows; ++row) {
        column.before += values[row];
      }
      column.values = values + rows * column.stride;
    }
  }
  return first;
}

TableRows::TableRows(const proto::CommandBatch& batch) {
  Deltas(Block::COLUMN_FETCHED_TICKS, batch.fetched_ticks_delta());
  Plain(Block::COLUMN_HEAD_TICKS_AFTER, batch.head_ticks_after());
  Plain(Block::COLUMN_START_TICKS_AFTER, batch.start_ticks_after());
  Plain(Block::COLUMN_END_TICKS_AFTER, batch.end_ticks_after());
  Deltas(Block::COLUMN_RECORD, batch.record_delta());
  Plain(Block::COLUMN_UNIT, batch.unit());
  Plain(Block::COLUMN_CONTEXT, batch.context());
  Plain(Block::COLUMN_QUEUE, batch.queue());
  Plain(Block::COLUMN_JOB, batch.job());
  Plain(Block::COLUMN_INDEX, batch.index());
  Plain(Block::COLUMN_OPCODE, batch.opcode());
  Plain(Block::COLUMN_STATUS, batch.status());
  Plain(Block::COLUMN_LIMITER, batch.limiter());
  Plain(Block::COLUMN_TAG, batch.tag());
  Deltas(Block::COLUMN_CORRELATION, batch.correlation_delta());
  Plain(Block::COLUMN_WORK, batch.work());
  Plain(Block::COLUMN_BYTES, batch.bytes());
  Plain(Block::COLUMN_MEMORY_BYTES, batch.memory_bytes());
  Plain(Block::COLUMN_ROW_HITS, batch.row_hits());
  Plain(Block::COLUMN_ROW_MISSES, batch.row_misses());
  if (rows_ == 0) return;
  SetStalls(std::min<size_t>(static_cast<size_t>(batch.stall_ticks_size()) / rows_,
                             kColumns - Block::COLUMN_STALL_TICKS),
            batch.stall_ticks().data());
}

TableRows::TableRows(const proto::JobBatch& batch) {
  Deltas(Block::COLUMN_DOORBELL_TICKS, batch.doorbell_ticks_delta());
  Plain(Block::COLUMN_FETCHED_TICKS_AFTER, batch.fetched_ticks_after());
  Plain(Block::COLUMN_FIRST_START_TICKS_AFTER, batch.first_start_ticks_after());
  Plain(Block::COLUMN_LAST_END_TICKS_AFTER, batch.last_end_ticks_after());
  Plain(Block::COLUMN_COMPLETION_TICKS_AFTER, batch.completion_ticks_after());
  Plain(Block::COLUMN_IRQ_TICKS_AFTER, batch.irq_ticks_after());
  Plain(Block::COLUMN_HAS_IRQ, batch.has_irq());
  Deltas(Block::COLUMN_RECORD, batch.record_delta());
  Plain(Block::COLUMN_CONTEXT, batch.context());
  Plain(Block::COLUMN_QUEUE, batch.queue());
  Plain(Block::COLUMN_JOB, batch.job());
  Plain(Block::COLUMN_COMMANDS, batch.commands());
  Plain(Block::COLUMN_STATUS, batch.status());
  Deltas(Block::COLUMN_CORRELATION, batch.correlation_delta());
}

TableRows::TableRows(const proto::ApiBatch& batch) {
  Deltas(Block::COLUMN_BEGIN_NS, batch.begin_ns_delta());
  Plain(Block::COLUMN_DURATION_NS, batch.duration_ns());
  Plain(Block::COLUMN_PID, batch.pid());
  Plain(Block::COLUMN_TID, batch.tid());
  Plain(Block::COLUMN_NAME, batch.name());
  Deltas(Block::COLUMN_CORRELATION, batch.correlation_delta());
  Plain(Block::COLUMN_BYTES, batch.bytes());
  Plain(Block::COLUMN_STREAM, batch.stream());
  Plain(Block::COLUMN_RESULT, batch.result());
  Plain(Block::COLUMN_OPEN, batch.open());
  Plain(Block::COLUMN_BEGAN_BEFORE, batch.began_before());
}

TableRows::TableRows(const proto::HostBatch& batch) {
  using Host = proto::HostBatch;
  Plain(Host::kKindFieldNumber, batch.kind());
  Deltas(Host::kTimeNsDeltaFieldNumber, batch.time_ns_delta());
  Plain(Host::kCpuFieldNumber, batch.cpu());
  Plain(Host::kPidFieldNumber, batch.pid());
  Plain(Host::kTidFieldNumber, batch.tid());
  Plain(Host::kDeviceFieldNumber, batch.device());
  Plain(Host::kContextFieldNumber, batch.context());
  Plain(Host::kQueueFieldNumber, batch.queue());
  Plain(Host::kJobFieldNumber, batch.job());
  Plain(Host::kSequenceFieldNumber, batch.sequence());
  Deltas(Host::kCorrelationDeltaFieldNumber, batch.correlation_delta());
  Plain(Host::kArg0FieldNumber, batch.arg0());
  Plain(Host::kArg1FieldNumber, batch.arg1());
  Plain(Host::kInFlightFieldNumber, batch.in_flight());
}

}  // namespace acceltrace::stream
