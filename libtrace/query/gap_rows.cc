// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/gap_rows.h"

#include <algorithm>

#include "libtrace/analysis/usage/activity.h"
#include "libtrace/query/tables.h"

namespace acceltrace::query {

size_t GapRows::size() {
  if (!found_) Find();
  return gaps_.size();
}

const GapRows::Row& GapRows::At(size_t gap) {
  if (gap < first_ || gap >= first_ + rows_.size()) Fill(gap / kRowsAtOnce * kRowsAtOnce);
  return rows_[gap - first_];
}

void GapRows::Find() {
  found_ = true;
  const auto activities = analysis::FindActivity(model_);
  for (uint32_t d = 0; d < activities.size(); ++d) {
    times_.emplace_back(model_.devices[d]);
    uint64_t touches = 0;
    // Marks of commands, because no jobs are included.
    const auto runs = analysis::Merged(model_, activities[d],
                                       {analysis::kDoesCompute, analysis::kDoesTransfer}, &touches);
    gaps_.reserve(gaps_.size() + runs.size());
    for (size_t i = 1; i < runs.size(); ++i) {
      gaps_.push_back({d, runs[i - 1].to.row, runs[i].from.row});
    }
  }
  begins_ = std::make_unique<analysis::MarkCursor>(model_.commands.start);
  ends_ = std::make_unique<analysis::MarkCursor>(model_.commands.end);
}

void GapRows::Fill(size_t first) {
  first_ = first;
  rows_.clear();
  const size_t end = std::min(first + kRowsAtOnce, size());
  for (size_t i = first; i < end; ++i) {
    const Gap& gap = gaps_[i];
    const analysis::Mark from = (*ends_)[gap.from], to = (*begins_)[gap.to];
    rows_.push_back({gap.device, from.host, to.host, times_[gap.device].Between(from, to)});
  }
}

}  // namespace acceltrace::query
