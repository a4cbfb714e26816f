// SPDX-License-Identifier: Apache-2.0
//
// Sorting tables whose columns are separate vectors. Internal.
#ifndef LIBTRACE_MODEL_PERMUTE_H_
#define LIBTRACE_MODEL_PERMUTE_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "libtrace/model/tables.h"

namespace acceltrace::model {

// Row numbers in the order that `less(row, row)` asks for; equal rows keep theirs.
template <typename Less>
std::vector<uint32_t> SortedRows(size_t rows, const Less& less) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

template <typename T>
void Permute(const std::vector<uint32_t>& order, Column<T>* column) {
  if (!column->empty()) column->Permute(order);  // else it is filled later
}

template <typename T>
void Permute(const std::vector<uint32_t>& order, std::vector<T>* column) {
  if (!column->empty()) PermuteValues(order, column);
}

inline void Permute(const std::vector<uint32_t>& order, DeviceTimes* times) {
  if (times->size() > 0) times->Permute(order);
}

template <typename... Columns>
void PermuteAll(const std::vector<uint32_t>& order, Columns*... columns) {
  (Permute(order, columns), ...);
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PERMUTE_H_
