// SPDX-License-Identifier: Apache-2.0
//
// Columns of some rows as numbers, which is what grouping works with. Internal.
#ifndef LIBTRACE_QUERY_GROUPING_COLUMNS_H_
#define LIBTRACE_QUERY_GROUPING_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libtrace/query/tables.h"

namespace acceltrace::query {

class NumberColumn {
 public:
  explicit NumberColumn(const PlainTable::Column* column) : column_(*column) {}

  const PlainTable::Column& column() const { return column_; }
  bool is_text() const { return column_.type == PlainTable::Type::kText; }

  // Those of `rows` rows from `first` on; until the next.
  void Read(size_t first, size_t rows);
  // Of rows of that part, these alone from now on.
  void Keep(const std::vector<uint32_t>& rows);
  // Numbers; of text one for each, the same for the same text where it lies.
  const uint64_t* values() const { return values_; }
  // 0 where there is none; nullptr if all are there.
  const uint8_t* seen() const { return seen_; }
  bool seen(size_t row) const { return seen_ == nullptr || seen_[row] != 0; }
  // Some of them are no numbers to SQL.
  bool any_other() const { return any_other_; }
  // Some of them may be below zero; else none is.
  bool any_negative() const { return any_negative_; }

 private:
  void ReadAny(size_t rows);
  uint64_t NumberOf(std::string_view text);

  const PlainTable::Column& column_;
  ColumnCells cells_;
  std::vector<uint64_t> numbers_;
  std::vector<uint8_t> some_;
  // Text without numbers of its own gets some.
  std::unordered_map<std::string, uint64_t> texts_;
  std::string_view last_;
  uint64_t last_number_ = 0;
  const uint64_t* values_ = nullptr;
  const uint8_t* seen_ = nullptr;
  bool any_other_ = false, any_negative_ = false;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_GROUPING_COLUMNS_H_
