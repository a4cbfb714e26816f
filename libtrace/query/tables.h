// SPDX-License-Identifier: Apache-2.0
//
// The model as plain tables, for SQL, CSV and SQLite: docs/query.md lists their
// columns.
//
// Times end in _ns (host, CLOCK_MONOTONIC) or _ticks (device). A device time X has five
// columns: X_raw_ticks, X_ticks, X_ns, X_lo_ns, X_hi_ns.
#ifndef LIBTRACE_QUERY_TABLES_H_
#define LIBTRACE_QUERY_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::query {

// monostate: not seen. Text stays where it is as long as the model and the table.
using Cell = std::variant<std::monostate, int64_t, uint64_t, double, std::string_view>;

// Cells of one column, of a few rows. Most columns hold integers, which lie there as such.
class ColumnCells {
 public:
  enum class Kind : uint8_t { kAny, kSigned, kUnsigned };

  Kind kind() const { return kind_; }
  // Of kAny.
  const Cell& any(size_t row) const { return any_[row]; }
  // Of the others, whatever their sign; and 0 for each that is not there, empty if all are.
  std::span<const uint64_t> integers() const { return integers_; }
  std::span<const uint8_t> seen() const {
    return some_ ? std::span<const uint8_t>(seen_) : std::span<const uint8_t>();
  }
  bool seen(size_t row) const { return !some_ || seen_[row] != 0; }
  Cell operator[](size_t row) const {
    if (kind_ == Kind::kAny) return any_[row];
    if (!seen(row)) return {};
    if (kind_ == Kind::kUnsigned) return integers_[row];
    return static_cast<int64_t>(integers_[row]);
  }

  // Room for that of as many rows, to be written.
  Cell* Any(size_t rows) {
    kind_ = Kind::kAny;
    any_.resize(rows);
    return any_.data();
  }
  uint64_t* Integers(Kind kind, size_t rows) {
    kind_ = kind, some_ = false;
    integers_.resize(rows);
    return integers_.data();
  }
  // After Integers(): 0 where there is none.
  uint8_t* Seen(size_t rows) {
    some_ = true;
    seen_.resize(rows);
    return seen_.data();
  }

 private:
  Kind kind_ = Kind::kAny;
  bool some_ = false;
  std::vector<Cell> any_;
  std::vector<uint64_t> integers_;
  std::vector<uint8_t> seen_;
};

struct PlainTable {
  enum class Type { kInteger, kReal, kText };
  struct Column {
    std::string name;
    Type type;
    std::function<Cell(size_t row)> cell;
    // Those of `rows` rows from `first` on.
    std::function<void(size_t first, size_t rows, ColumnCells* out)> cells;
  };
  std::string name;
  std::function<size_t()> rows;
  std::vector<Column> columns;
  int sorted = -1;  // a column of integers that rises from row to row
};

// What the trace holds, row by row. They refer to the model, which must outlive them.
std::vector<PlainTable> PlainTables(const model::Model& model);
// What the host's kernel says of threads and the machine.
std::vector<PlainTable> SystemTables(const model::Model& model);
// Stacks of API calls.
std::vector<PlainTable> StackTables(const model::Model& model);
// What libtrace/analysis makes of it. Computed when a table is used first.
std::vector<PlainTable> AnswerTables(const model::Model& model);
// The same for who reads them all: what they share is computed for all of them at once.
std::vector<PlainTable> AllAnswerTables(const model::Model& model);

// A table's rows, some at once: each(columns, rows) is called with their cells; false ends it.
inline constexpr size_t kRowsAtOnce = 128;
template <typename Each>
bool EachRows(const PlainTable& table, const Each& each) {
  const size_t rows = table.rows();
  std::vector<ColumnCells> columns(table.columns.size());
  for (size_t first = 0; first < rows; first += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, rows - first);
    for (size_t c = 0; c < columns.size(); ++c) {
      table.columns[c].cells(first, count, &columns[c]);
    }
    if (!each(columns, count)) return false;
  }
  return true;
}

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_TABLES_H_
