// SPDX-License-Identifier: Apache-2.0
//
// Sorts data that is nearly sorted. Internal.
#ifndef LIBTRACE_VIEW_COMMON_SORT_RUNS_H_
#define LIBTRACE_VIEW_COMMON_SORT_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace acceltrace::view {

// Merges the few sorted runs of which data from the model's tables consists.
template <typename T, typename Before>
void SortRuns(std::span<T> items, const Before& before) {
  constexpr size_t kMostRuns = 64;
  std::vector<size_t> ends;
  for (size_t at = 0; at < items.size() && ends.size() <= kMostRuns;) {
    at = static_cast<size_t>(
        std::is_sorted_until(items.begin() + static_cast<ptrdiff_t>(at), items.end(), before) -
        items.begin());
    ends.push_back(at);
  }
  if (ends.size() > kMostRuns) return std::sort(items.begin(), items.end(), before);
  const auto place = [&](size_t at) { return items.begin() + static_cast<ptrdiff_t>(at); };
  while (ends.size() > 1) {
    std::vector<size_t> merged;
    for (size_t i = 0; i < ends.size(); i += 2) {
      const size_t begin = i == 0 ? 0 : ends[i - 1];
      if (i + 1 < ends.size()) {
        std::inplace_merge(place(begin), place(ends[i]), place(ends[i + 1]), before);
      }
      merged.push_back(ends[std::min(i + 1, ends.size() - 1)]);
    }
    ends = std::move(merged);
  }
}

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_SORT_RUNS_H_
