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
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::query {

// monostate: not seen. Text stays where it is as long as the model and the table.
using Cell = std::variant<std::monostate, int64_t, uint64_t, double, std::string_view>;

struct PlainTable {
  enum class Type { kInteger, kReal, kText };
  struct Column {
    std::string name;
    Type type;
    std::function<Cell(size_t row)> cell;
    // Those of `rows` rows from `first` on.
    std::function<void(size_t first, size_t rows, Cell* out)> cells;
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

// The cells of a row: those of a column lie together, as they were made.
class RowCells {
 public:
  static constexpr size_t kAtOnce = 128;  // rows

  RowCells(const Cell* first, size_t columns) : first_(first), columns_(columns) {}
  size_t size() const { return columns_; }
  const Cell& operator[](size_t column) const { return first_[column * kAtOnce]; }

 private:
  const Cell* first_;
  size_t columns_;
};

// A table's rows one after the other: each(cells) is called with those of a row; false ends it.
template <typename Each>
bool EachRow(const PlainTable& table, const Each& each) {
  const size_t rows = table.rows(), columns = table.columns.size();
  std::vector<Cell> cells(columns * RowCells::kAtOnce);
  for (size_t first = 0; first < rows; first += RowCells::kAtOnce) {
    const size_t count = std::min(RowCells::kAtOnce, rows - first);
    for (size_t c = 0; c < columns; ++c) {
      table.columns[c].cells(first, count, &cells[c * RowCells::kAtOnce]);
    }
    for (size_t i = 0; i < count; ++i) {
      if (!each(RowCells(cells.data() + i, columns))) return false;
    }
  }
  return true;
}

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_TABLES_H_
