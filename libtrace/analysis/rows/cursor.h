// SPDX-License-Identifier: Apache-2.0
//
// Reads columns row by row. Internal.
//
// Reading a single value from a column is slow, since its chunk and its width must be found first.
// A cursor unpacks a whole chunk and then answers from it, which pays off for rows that are roughly
// in order.
#ifndef LIBTRACE_ANALYSIS_ROWS_CURSOR_H_
#define LIBTRACE_ANALYSIS_ROWS_CURSOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/model/tables/tables.h"

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

  // A chunk is unpacked after this many single reads from it, so that rows in random order are read
  // one by one.
  static constexpr uint32_t kWorthIt = 32;

  [[gnu::noinline]] T Load(size_t row) {
    const size_t chunk = row / kRows;
    if (chunk != missed_) missed_ = chunk, misses_ = 0;
    if (++misses_ < kWorthIt) return column_.At(row);
    // Columns may be empty, so that rows after their end are requested, too.
    first_ = chunk * kRows;
    column_.Read(first_, kRows, values_.data());
    return values_[row - first_];
  }

  const model::Column<T>& column_;
  size_t first_ = static_cast<size_t>(-1) / 2, missed_ = first_;
  uint32_t misses_ = 0;
  std::array<T, kRows> values_;
};

// A chunk of a column that is loaded together with those of others, for reading all rows in order.
template <typename T>
class Chunked {
 public:
  static constexpr size_t kRows = model::Column<T>::kRows;

  explicit Chunked(const model::Column<T>& column) : column_(column) {}
  // `first` must be the first row of a chunk.
  void Load(size_t first, size_t rows) { column_.Read(first, rows, values_.data()); }
  // The row must be in the chunk.
  T operator[](size_t row) const { return values_[row % kRows]; }
  const T* At(size_t row) const { return &values_[row % kRows]; }

 private:
  const model::Column<T>& column_;
  std::array<T, kRows> values_;
};

// Reads ticks and epochs, which suffice to compare times of one count.
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
// Reads complete times on the host's clock.
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

#endif  // LIBTRACE_ANALYSIS_ROWS_CURSOR_H_
