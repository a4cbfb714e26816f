// SPDX-License-Identifier: Apache-2.0
//
// Rows of a column as blocks have them: a base and numbers of 32 bits are half as much to add up,
// to compare and to store as what they stand for. Internal.
#ifndef LIBTRACE_MODEL_ROW_NUMBERS_H_
#define LIBTRACE_MODEL_ROW_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::model {

// Refers to what the rows refer to.
class RowNumbers {
 public:
  RowNumbers(const stream::TableRows& from, int column);
  explicit RowNumbers(std::span<const uint64_t> values) : rows_(values.size()) {
    view_.wide = values.data();
  }

  size_t rows() const { return rows_; }
  const stream::BlockColumn& view() const { return view_; }
  uint64_t operator[](size_t row) const { return view_[row]; }
  // All of them are from `first` on and below `end`.
  bool AreWithin(uint64_t first, uint64_t end) const;
  // How many are above those of as many other rows; nullopt: some may be large.
  std::optional<uint64_t> CountAbove(const RowNumbers& other) const;
  // Adds to each, modulo 2^64. As many rows.
  void Add(const RowNumbers& more);

 private:
  void AddWide(const RowNumbers& more);

  size_t rows_;
  stream::BlockColumn view_;
  std::unique_ptr<uint32_t[]> narrow_;  // if view_ is of them
  std::unique_ptr<uint64_t[]> wide_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_ROW_NUMBERS_H_
