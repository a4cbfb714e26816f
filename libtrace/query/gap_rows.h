// SPDX-License-Identifier: Apache-2.0
//
// Periods in which no unit of a device ran a command, between its first start and last end.
// Internal.
#ifndef LIBTRACE_QUERY_GAP_ROWS_H_
#define LIBTRACE_QUERY_GAP_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::query {

// The gaps are found on first use. Only the two commands of each gap are stored, and rows are
// computed for a few at a time, because there are nearly as many gaps as commands.
class GapRows {
 public:
  struct Row {
    uint32_t device;
    model::Interval begin, end;
    analysis::Span length;
  };

  explicit GapRows(const model::Model& model) : model_(model) {}
  size_t size();
  // Valid until the next call.
  const Row& At(size_t gap);

 private:
  struct Gap {
    uint32_t device, from, to;  // rows of commands
  };
  void Find();
  void Fill(size_t first);

  const model::Model& model_;
  bool found_ = false;
  std::vector<Gap> gaps_;
  std::vector<analysis::Durations> times_;  // by device
  std::unique_ptr<analysis::MarkCursor> begins_, ends_;
  size_t first_ = 0;
  std::vector<Row> rows_;  // starting with first_
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_GAP_ROWS_H_
