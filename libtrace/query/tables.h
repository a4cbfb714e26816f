// SPDX-License-Identifier: Apache-2.0
//
// The model as plain tables, for SQL, CSV and SQLite: docs/query.md lists their
// columns.
//
// Times end in _ns (host, CLOCK_MONOTONIC) or _ticks (device). A device time X has five
// columns: X_raw_ticks, X_ticks, X_ns, X_lo_ns, X_hi_ns.
#ifndef LIBTRACE_QUERY_TABLES_H_
#define LIBTRACE_QUERY_TABLES_H_

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
  };
  std::string name;
  std::function<size_t()> rows;
  std::vector<Column> columns;
  int sorted = -1;  // a column of integers that rises from row to row
};

// What the trace holds, row by row. They refer to the model, which must outlive them.
std::vector<PlainTable> PlainTables(const model::Model& model);
// What libtrace/analysis makes of it. Computed when a table is used first.
std::vector<PlainTable> AnswerTables(const model::Model& model);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_TABLES_H_
