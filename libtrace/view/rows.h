// SPDX-License-Identifier: Apache-2.0
//
// The answer of a query as a table, CSV or JSON, row by row.
#ifndef LIBTRACE_VIEW_ROWS_H_
#define LIBTRACE_VIEW_ROWS_H_

#include <memory>
#include <string>

#include "libtrace/query/sql.h"
#include "libtrace/view/export.h"
#include "libtrace/view/table.h"

namespace acceltrace::view {

class RowWriter : public query::RowSink {
 public:
  // What comes after the last row.
  virtual Status End() = 0;
};

// Columns as wide as those of the first rows; what is longer later pushes the rest aside.
std::unique_ptr<RowWriter> TableRows(const Style& style, Sink sink);
// printable: for a terminal.
std::unique_ptr<RowWriter> CsvRows(bool printable, Sink sink);
// docs/json.md: acceltrace.query.
std::unique_ptr<RowWriter> JsonRows(Sink sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_ROWS_H_
