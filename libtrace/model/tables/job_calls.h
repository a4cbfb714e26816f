// SPDX-License-Identifier: Apache-2.0
//
// Finds the calls that submitted a job or waited for it. Internal.
#ifndef LIBTRACE_MODEL_TABLES_JOB_CALLS_H_
#define LIBTRACE_MODEL_TABLES_JOB_CALLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/rising_ids.h"
#include "libtrace/model/tables/tables.h"

namespace acceltrace::model {

// Calls by correlation. Of several with the same one, the first counts.
class JobCalls {
 public:
  explicit JobCalls(const Column<uint64_t>& ids) : submitted_(ids), awaited_(submitted_) {
    if (submitted_.rise()) return;
    calls_.reserve(ids.size());
    EachRow(
        [&](size_t row, uint64_t id) {
          if (id != 0) calls_.emplace_back(id, static_cast<uint32_t>(row));
          return true;
        },
        ids);
    if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
  }
  // Returns the call that submitted a job, or waited for it. Lookups should be roughly in order.
  uint32_t Submitted(uint64_t id) { return Find(id, &submitted_, &last_); }
  uint32_t Awaited(uint64_t id) { return Find(id, &awaited_, &last_wait_); }

 private:
  uint32_t Find(uint64_t id, RisingIds* rising, size_t* last) const {
    if (!rising->rise()) return FindCall(calls_, id, last);
    return id == 0 ? kNoRow : rising->Find(id);
  }

  // Most lookups are in order. last: the position of the previous result.
  static uint32_t FindCall(const std::vector<std::pair<uint64_t, uint32_t>>& calls,
                           uint64_t correlation, size_t* last) {
    const auto is_it = [&](size_t at) {
      return (at == 0 || calls[at - 1].first < correlation) &&
             (at == calls.size() || calls[at].first >= correlation);
    };
    if (*last < calls.size() && is_it(*last + 1)) {
      ++*last;
    } else if (!is_it(*last)) {
      *last = static_cast<size_t>(
          std::lower_bound(calls.begin(), calls.end(), std::pair(correlation, 0u)) - calls.begin());
    }
    const bool found = *last < calls.size() && calls[*last].first == correlation;
    return found ? calls[*last].second : kNoRow;
  }

  RisingIds submitted_, awaited_;
  std::vector<std::pair<uint64_t, uint32_t>> calls_;  // if ids do not rise
  size_t last_ = 0, last_wait_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_JOB_CALLS_H_
