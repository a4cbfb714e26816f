// SPDX-License-Identifier: Apache-2.0
//
// The model as plain tables, for SQL, CSV and SQLite: docs/query.md lists their columns.
//
// Times end in _ns (host, CLOCK_MONOTONIC) or _ticks (device). A device time X has five columns:
// X_raw_ticks, X_ticks, X_ns, X_lo_ns, X_hi_ns.
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

#include "libtrace/model/tables/model.h"

namespace acceltrace::query {

// monostate: not seen. Text is valid as long as the model and the table.
using Cell = std::variant<std::monostate, int64_t, uint64_t, double, std::string_view>;

// The cells of one column in a few rows. Most columns have integers, which are stored as such.
class ColumnCells {
 public:
  enum class Kind : uint8_t { kAny, kSigned, kUnsigned };

  Kind kind() const { return kind_; }
  // For kAny.
  const Cell& any(size_t row) const { return any_[row]; }
  // For other kinds: values independent of their sign, or 0 for missing ones; empty if all are
  // missing.
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

  // Returns an array for this number of cells, to be filled in.
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
  // Must be called after Integers(). Set to 0 for missing values.
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
    // Reads `rows` rows from `first` on.
    std::function<void(size_t first, size_t rows, ColumnCells* out)> cells;
  };
  std::string name;
  std::function<size_t()> rows;
  std::vector<Column> columns;
  int sorted = -1;  // number of an integer column that rises from row to row
};

// Returns the content of the trace as tables. They refer to the model, which must outlive them.
std::vector<PlainTable> PlainTables(const model::Model& model);
// Returns tables of what the kernel reports about threads and the machine.
std::vector<PlainTable> SystemTables(const model::Model& model);
// Returns tables of stacks of API calls.
std::vector<PlainTable> StackTables(const model::Model& model);
// Returns tables of the results of libtrace/analysis, which are computed on first use.
std::vector<PlainTable> AnswerTables(const model::Model& model);
// The same for reading all of them: what they share is computed for all at once.
std::vector<PlainTable> AllAnswerTables(const model::Model& model);

// Calls each(columns, rows) with the cells of some rows at a time, until it returns false.
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
