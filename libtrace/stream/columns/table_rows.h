// SPDX-License-Identifier: Apache-2.0
//
// Columns with the rows of commands, device jobs, host events or API calls. Internal.
//
// Columns have the same numbers as in blocks (proto::Block::Column). Those of host events have the
// numbers of the fields in proto::HostBatch, because a row of a block is several host events.
#ifndef LIBTRACE_STREAM_COLUMNS_TABLE_ROWS_H_
#define LIBTRACE_STREAM_COLUMNS_TABLE_ROWS_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_columns.h"

namespace acceltrace::stream {

// Refers to columns that a RowDecoder holds. Each row of an absent column is zero.
class TableRows {
 public:
  static constexpr size_t kColumns = BlockColumns::kKnown;

  size_t rows() const { return rows_; }
  void set_rows(size_t rows) { rows_ = rows; }
  // The number of stall causes for which commands have columns, from COLUMN_STALL_TICKS on.
  size_t stalls() const { return stalls_; }
  void set_stalls(size_t stalls) { stalls_ = stalls; }

  bool has(int column) const { return there_[static_cast<size_t>(column)]; }
  void Set(int column, const BlockColumn& values) {
    columns_[static_cast<size_t>(column)] = values;
    there_.set(static_cast<size_t>(column));
  }
  const BlockColumn& of(int column) const { return columns_[static_cast<size_t>(column)]; }

  // Copies all values of a column, truncated to T, which has 8, 4 or 1 bytes.
  template <typename T>
  void Read(int column, T* out) const {
    of(column).Read(0, rows_, out);
  }

  // Splits off the first `most` rows, or all if there are fewer.
  TableRows Take(size_t most) {
    TableRows first = *this;
    first.rows_ = std::min(most, rows_);
    rows_ -= first.rows_;
    for (BlockColumn& column : columns_) column.Skip(first.rows_);
    return first;
  }

 private:
  size_t rows_ = 0, stalls_ = 0;
  std::array<BlockColumn, kColumns> columns_;
  std::bitset<kColumns> there_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_TABLE_ROWS_H_
