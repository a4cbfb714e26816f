// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/table_rows.h"

namespace acceltrace::stream {

using google::protobuf::RepeatedField;
using proto::Block;

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

TableRows TableRows::Take(size_t most) {
  TableRows first = *this;
  const size_t rows = first.rows_ = std::min(most, rows_);
  rows_ -= rows;
  for (Column& column : columns_) {
    if (column.kind == Kind::kNarrow) {
      column.values = static_cast<const uint32_t*>(column.values) + rows;
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
  stalls_ = std::min<size_t>(static_cast<size_t>(batch.stall_ticks_size()) / rows_,
                             kColumns - Block::COLUMN_STALL_TICKS);
  for (size_t i = 0; i < stalls_; ++i) {
    columns_[Block::COLUMN_STALL_TICKS + i] = {Kind::kWide, batch.stall_ticks().data() + i,
                                               stalls_};
  }
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

}  // namespace acceltrace::stream
