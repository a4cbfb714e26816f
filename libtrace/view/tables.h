// SPDX-License-Identifier: Apache-2.0
//
// The model as plain tables, for CSV and SQLite: docs/analysis.md lists their
// columns. Room: libtrace/view.
//
// Times end in _ns (host, CLOCK_MONOTONIC) or _ticks (device, raw). A device
// time X has four columns: X_ticks, X_ns, X_lo_ns, X_hi_ns.
#ifndef LIBTRACE_VIEW_TABLES_H_
#define LIBTRACE_VIEW_TABLES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::view {

// monostate: not seen.
using Cell = std::variant<std::monostate, int64_t, uint64_t, double, std::string>;

struct PlainTable {
  enum class Type { kInteger, kReal, kText };
  struct Column {
    std::string name;
    Type type;
    std::function<Cell(size_t row)> cell;
  };
  std::string name;
  size_t rows = 0;
  std::vector<Column> columns;
};

// They refer to the model, which must outlive them.
std::vector<PlainTable> PlainTables(const model::Model& model);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TABLES_H_
