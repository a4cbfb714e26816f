// SPDX-License-Identifier: Apache-2.0
//
// Reading columns from row to row. Internal.
//
// A value by itself costs a column more than its place: which chunk, how wide. A cursor unpacks a
// chunk at once and answers from there. For rows that come in order, or nearly.
#ifndef LIBTRACE_ANALYSIS_CURSOR_H_
#define LIBTRACE_ANALYSIS_CURSOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libtrace/analysis/row_loops.h"
#include "libtrace/model/tables.h"

namespace acceltrace::analysis {

template <typename T>
class Cursor {
 public:
  explicit Cursor(const model::Column<T>& column) : column_(column) {}
  T operator[](size_t row) {
    const size_t at = row - first_;
    if (at >= kRows) return Load(row);
    return values_[at];
  }

 private:
  static constexpr size_t kRows = model::Column<T>::kRows;

  // Unpacked once it is asked for again and again: rows that come in no order are read by
  // themselves.
  static constexpr uint32_t kWorthIt = 32;

  [[gnu::noinline]] T Load(size_t row) {
    const size_t chunk = row / kRows;
    if (chunk != missed_) missed_ = chunk, misses_ = 0;
    if (++misses_ < kWorthIt) return column_.At(row);
    // Rows behind the column's end are asked for as well: columns may have none.
    first_ = chunk * kRows;
    column_.Read(first_, kRows, values_.data());
    return values_[row - first_];
  }

  const model::Column<T>& column_;
  size_t first_ = static_cast<size_t>(-1) / 2, missed_ = first_;
  uint32_t misses_ = 0;
  std::array<T, kRows> values_;
};

// A chunk of a column, loaded with those of others: for rows in order, all of which are read.
template <typename T>
class Chunked {
 public:
  static constexpr size_t kRows = model::Column<T>::kRows;

  explicit Chunked(const model::Column<T>& column) : column_(column) {}
  // first: of a chunk.
  void Load(size_t first, size_t rows) { column_.Read(first, rows, values_.data()); }
  // Of a row of the chunk.
  T operator[](size_t row) const { return values_[row % kRows]; }
  const T* At(size_t row) const { return &values_[row % kRows]; }

 private:
  const model::Column<T>& column_;
  std::array<T, kRows> values_;
};

// Ticks and epochs of times: all that an order within one count takes.
struct TickCursor {
  explicit TickCursor(const model::DeviceTimes& times) : ticks(times.ticks), epoch(times.epoch) {}
  Cursor<uint64_t> ticks;
  Cursor<uint32_t> epoch;
};
struct ChunkedTicks {
  explicit ChunkedTicks(const model::DeviceTimes& times) : ticks(times.ticks), epoch(times.epoch) {}
  void Load(size_t first, size_t rows) { ticks.Load(first, rows), epoch.Load(first, rows); }
  Chunked<uint64_t> ticks;
  Chunked<uint32_t> epoch;
};
// Whole times on the host's clock.
struct ChunkedIntervals {
  explicit ChunkedIntervals(const model::IntervalColumn& times)
      : mid_ns(times.mid_ns()), before_ns(times.before_ns()), after_ns(times.after_ns()) {}
  void Load(size_t first, size_t rows) {
    mid_ns.Load(first, rows), before_ns.Load(first, rows), after_ns.Load(first, rows);
  }
  model::Interval operator[](size_t row) const {
    const auto mid = static_cast<uint64_t>(mid_ns[row]);
    return {static_cast<int64_t>(mid - before_ns[row]), mid_ns[row],
            static_cast<int64_t>(mid + after_ns[row])};
  }
  IntervalRows At(size_t row) const {
    return {mid_ns.At(row), before_ns.At(row), after_ns.At(row)};
  }
  Chunked<int64_t> mid_ns;
  Chunked<uint64_t> before_ns, after_ns;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CURSOR_H_
