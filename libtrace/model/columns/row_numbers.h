// SPDX-License-Identifier: Apache-2.0
//
// Rows of a column as blocks store them: a base and 32-bit numbers take half the time to add,
// compare and store that their values would. Internal.
#ifndef LIBTRACE_MODEL_COLUMNS_ROW_NUMBERS_H_
#define LIBTRACE_MODEL_COLUMNS_ROW_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libtrace/stream/columns/block_columns.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::model {

// Refers to the data of the rows.
class RowNumbers {
 public:
  RowNumbers(const stream::TableRows& from, int column);
  explicit RowNumbers(std::span<const uint64_t> values) : rows_(values.size()) {
    view_.wide = values.data();
  }

  size_t rows() const { return rows_; }
  const stream::BlockColumn& view() const { return view_; }
  uint64_t operator[](size_t row) const { return view_[row]; }
  // Returns true if all values are in [first, end).
  bool AreWithin(uint64_t first, uint64_t end) const;
  // Counts values that exceed those of another column with as many rows; nullopt if some may be
  // large.
  std::optional<uint64_t> CountAbove(const RowNumbers& other) const;
  // Adds another column with as many rows, modulo 2^64.
  void Add(const RowNumbers& more);

 private:
  void AddWide(const RowNumbers& more);

  size_t rows_;
  stream::BlockColumn view_;
  std::unique_ptr<uint32_t[]> narrow_;  // if view_ refers to it
  std::unique_ptr<uint64_t[]> wide_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_ROW_NUMBERS_H_
