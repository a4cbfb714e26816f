// SPDX-License-Identifier: Apache-2.0
//
// Writes the answer of a query as a table, CSV or JSON, row by row.
#ifndef LIBTRACE_VIEW_TEXT_ROWS_H_
#define LIBTRACE_VIEW_TEXT_ROWS_H_

#include <memory>
#include <string>

#include "libtrace/query/sql.h"
#include "libtrace/view/common/export.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

class RowWriter : public query::RowSink {
 public:
  // Writes what follows the last row.
  virtual Status End() = 0;
};

// The widths of columns are determined by the first rows; longer cells later shift the rest.
std::unique_ptr<RowWriter> TableRows(const Style& style, Sink sink);
// If printable, the output is made safe for a terminal.
std::unique_ptr<RowWriter> CsvRows(bool printable, Sink sink);
// The format is acceltrace.query in docs/json.md.
std::unique_ptr<RowWriter> JsonRows(Sink sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_ROWS_H_
