// SPDX-License-Identifier: Apache-2.0
//
// Radix sort for many items with a number as key. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_RADIX_H_
#define LIBTRACE_ANALYSIS_ROWS_RADIX_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace acceltrace::analysis {

// Sorts by key(item), a uint64_t. The sort is stable. Keys in a narrow range need fewer passes.
template <typename Item, typename KeyOf>
void SortByNumber(const KeyOf& key, std::vector<Item>* items) {
  constexpr int kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  // Below this, counting digits is not worthwhile.
  constexpr size_t kFew = 512;
  if (items->size() < 2) return;
  uint64_t low = key(items->front()), high = low, last = low;
  size_t falls = 0, fall = 0;  // number of descents, and the position of the last one
  for (size_t i = 0; i < items->size(); ++i) {
    const uint64_t number = key((*items)[i]);
    low = std::min(low, number), high = std::max(high, number);
    if (number < last) ++falls, fall = i;
    last = number;
  }
  if (falls == 0) return;
  if (items->size() < kFew) {
    std::stable_sort(items->begin(), items->end(),
                     [&](const Item& a, const Item& b) { return key(a) < key(b); });
    return;
  }
  std::vector<Item> other(items->size());
  if (falls == 1) {  // two sorted lists, which only need merging
    const auto second = items->begin() + static_cast<ptrdiff_t>(fall);
    std::merge(items->begin(), second, second, items->end(), other.begin(),
               [&](const Item& a, const Item& b) { return key(a) < key(b); });
    items->swap(other);
    return;
  }
  const int bits = std::bit_width(high - low);
  for (int shift = 0; shift < bits; shift += kBits) {
    std::array<size_t, kDigits> at{};
    const auto digit = [&](const Item& item) {
      return static_cast<size_t>((key(item) - low) >> shift) & (kDigits - 1);
    };
    for (const Item& item : *items) ++at[digit(item)];
    size_t sum = 0;
    for (size_t& count : at) sum += std::exchange(count, sum);
    for (const Item& item : *items) other[at[digit(item)]++] = item;
    items->swap(other);
  }
}

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_RADIX_H_
