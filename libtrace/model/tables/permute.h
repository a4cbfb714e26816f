// SPDX-License-Identifier: Apache-2.0
//
// Sorts rows of tables and columns that are stored separately.
#ifndef LIBTRACE_MODEL_TABLES_PERMUTE_H_
#define LIBTRACE_MODEL_TABLES_PERMUTE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "libtrace/model/tables/tables.h"

namespace acceltrace::model {

// Returns row numbers sorted by `less(row, row)`; equal rows keep their order.
template <typename Less>
std::vector<uint32_t> SortedRows(size_t rows, const Less& less) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  // Most tables are already sorted.
  if (!std::is_sorted(order.begin(), order.end(), less)) {
    std::stable_sort(order.begin(), order.end(), less);
  }
  return order;
}

// Sorts rows by key(row), which is only called once for each. Rows with the same key are sorted by
// number.
template <typename KeyOf>
void SortByKey(const KeyOf& key, std::vector<uint32_t>* rows) {
  using Key = decltype(key(uint32_t{0}));
  std::vector<std::pair<Key, uint32_t>> keys;
  keys.reserve(rows->size());
  bool sorted = true;
  for (const uint32_t row : *rows) {
    keys.emplace_back(key(row), row);
    sorted = sorted && (keys.size() == 1 || !(keys.back() < keys[keys.size() - 2]));
  }
  if (sorted) return;
  std::sort(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size(); ++i) (*rows)[i] = keys[i].second;
}

template <typename KeyOf>
std::vector<uint32_t> RowsByKey(size_t rows, const KeyOf& key) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  SortByKey(key, &order);
  return order;
}

// Calls each(row, value...) for columns of one length, in order, until it returns false. Returns
// true if it never did.
template <typename Each, typename... T>
bool EachRow(const Each& each, const Column<T>&... columns) {
  constexpr size_t kRows = Column<uint8_t>::kRows;
  const size_t rows = std::get<0>(std::tie(columns...)).size();
  std::tuple<std::array<T, kRows>...> values;
  for (size_t first = 0; first < rows; first += kRows) {
    const size_t count = std::min(kRows, rows - first);
    const bool all = std::apply(
        [&](auto&... of) {
          (columns.Read(first, count, of.data()), ...);
          for (size_t i = 0; i < count; ++i) {
            if (!each(first + i, of[i]...)) return false;
          }
          return true;
        },
        values);
    if (!all) return false;
  }
  return true;
}

// Calls each(first, rows, values...) for columns of one length, by chunks, until it returns false.
// Returns true if it never did. values[-1] is the value of the preceding row; of the first row, its
// own.
template <typename Each, typename... T>
bool EachChunk(const Each& each, const Column<T>&... columns) {
  constexpr size_t kRows = Column<uint8_t>::kRows;
  const size_t rows = std::get<0>(std::tie(columns...)).size();
  std::tuple<std::array<T, kRows + 1>...> values;
  for (size_t first = 0; first < rows; first += kRows) {
    const size_t count = std::min(kRows, rows - first);
    const bool all = std::apply(
        [&](auto&... of) {
          if (first > 0) ((of[0] = of[kRows]), ...);
          (columns.Read(first, count, of.data() + 1), ...);
          if (first == 0) ((of[0] = of[1]), ...);
          return each(first, count, of.data() + 1 ...);
        },
        values);
    if (!all) return false;
  }
  return true;
}

// Returns true if the values of each row exceed those of the previous one, so that rows are sorted.
template <typename... T>
bool AllRise(const Column<T>&... columns) {
  const auto rises = [](size_t first, size_t rows, const T*... values) {
    bool all = true;
    for (size_t i = first == 0 ? 1 : 0; i < rows; ++i) {
      all &= std::tie(*(values + i - 1)...) < std::tie(values[i]...);
    }
    return all;
  };
  return EachChunk(rises, columns...);
}

// Returns true if no row of the order has moved.
inline bool IsSameOrder(const std::vector<uint32_t>& order) {
  uint32_t next = 0;
  return std::all_of(order.begin(), order.end(), [&](uint32_t row) { return row == next++; });
}

// same: IsSameOrder(order).
template <typename T>
void Permute(const std::vector<uint32_t>& order, bool same, Column<T>* column) {
  if (column->empty() || (same && order.size() == column->size()))
    return;  // else it is filled later
  column->Permute(order);
}

template <typename T>
void Permute(const std::vector<uint32_t>& order, bool same, std::vector<T>* column) {
  if (column->empty() || (same && order.size() == column->size())) return;
  PermuteValues(order, column);
}

inline void Permute(const std::vector<uint32_t>& order, bool same, DeviceTimes* times) {
  if (times->size() == 0 || (same && order.size() == times->size())) return;
  times->Permute(order);
}

// Keeps these rows, in this order. Columns that are not filled yet stay empty.
template <typename Table>
void PermuteRows(const std::vector<uint32_t>& order, Table* table) {
  const bool same = IsSameOrder(order);
  std::apply([&](auto&... column) { (Permute(order, same, &column), ...); }, table->Columns());
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_PERMUTE_H_
