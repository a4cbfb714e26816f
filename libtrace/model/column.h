// SPDX-License-Identifier: Apache-2.0
//
// A column of a table.
//
// Many columns of a trace hold one value in all of their rows: what a batch leaves out, the only
// device, no error. Most others are close to each other within a thousand rows: times, ids. The
// first take no room, the others one to four bytes for a row instead of eight.
#ifndef LIBTRACE_MODEL_COLUMN_H_
#define LIBTRACE_MODEL_COLUMN_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::model {

// Of `values` only those of the rows in `order`, in its order. Where it is a permutation no second
// copy is made.
template <typename T>
void PermuteValues(const std::vector<uint32_t>& order, std::vector<T>* values) {
  std::vector<T>& v = *values;
  if (order.size() != v.size()) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (uint32_t row : order) sorted.push_back(v[row]);
    v = std::move(sorted);
    return;
  }
  std::vector<bool> done(v.size());
  for (size_t begin = 0; begin < v.size(); ++begin) {
    if (done[begin] || order[begin] == begin) continue;
    T first = std::move(v[begin]);
    size_t at = begin;
    for (; order[at] != begin; at = order[at]) {
      v[at] = std::move(v[order[at]]);
      done[at] = true;
    }
    v[at] = std::move(first);
    done[at] = true;
  }
}

// Reads a column from one row to another.
template <typename Of>
class ColumnIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Of::value_type;
  using difference_type = ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  ColumnIterator() = default;
  ColumnIterator(const Of* column, size_t row) : column_(column), row_(row) {}
  value_type operator*() const { return (*column_)[row_]; }
  value_type operator[](ptrdiff_t n) const { return (*column_)[row_ + static_cast<size_t>(n)]; }
  ColumnIterator& operator++() { return ++row_, *this; }
  ColumnIterator& operator--() { return --row_, *this; }
  ColumnIterator operator++(int) { return {column_, row_++}; }
  ColumnIterator operator--(int) { return {column_, row_--}; }
  ColumnIterator& operator+=(ptrdiff_t n) { return row_ += static_cast<size_t>(n), *this; }
  ColumnIterator& operator-=(ptrdiff_t n) { return row_ -= static_cast<size_t>(n), *this; }
  friend ColumnIterator operator+(ColumnIterator at, ptrdiff_t n) { return at += n; }
  friend ColumnIterator operator-(ColumnIterator at, ptrdiff_t n) { return at -= n; }
  friend ptrdiff_t operator-(const ColumnIterator& a, const ColumnIterator& b) {
    return static_cast<ptrdiff_t>(a.row_ - b.row_);
  }
  friend auto operator<=>(const ColumnIterator& a, const ColumnIterator& b) {
    return a.row_ <=> b.row_;
  }
  friend bool operator==(const ColumnIterator& a, const ColumnIterator& b) {
    return a.row_ == b.row_;
  }

 private:
  const Of* column_ = nullptr;
  size_t row_ = 0;
};

// Values lie in chunks, each as wide as its own need: 0, 1, 2, 4 or 8 bytes for a row, over a base.
template <typename T>
class Column {
 public:
  using value_type = T;
  using const_iterator = ColumnIterator<Column>;

  // What is assigned to.
  class Place {
   public:
    Place(Column* column, size_t row) : column_(column), row_(row) {}
    Place(const Place&) = default;
    operator T() const { return column_->At(row_); }
    const Place& operator=(T value) const { return column_->Set(row_, value), *this; }
    const Place& operator=(const Place& other) const { return *this = static_cast<T>(other); }
    T operator++(int) const {
      const T before = *this;
      *this = static_cast<T>(before + 1);
      return before;
    }

   private:
    Column* column_;
    size_t row_;
  };

  Column() = default;
  Column(size_t rows, T value) { resize(rows, value); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // A column that has no rows, or not all of its table's, has T{} in the others.
  T At(size_t row) const {
    if (row >= size_) return T{};
    const Chunk& chunk = chunks_[row / kRows];
    return static_cast<T>(chunk.base + chunk.Load(row % kRows));
  }
  T operator[](size_t row) const { return At(row); }
  Place operator[](size_t row) { return {this, row}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  T front() const { return At(0); }
  T back() const { return At(size_ - 1); }

  void Set(size_t row, T value) { Put(row / kRows, row % kRows, value); }
  void push_back(T value) {
    if (size_ % kRows == 0) chunks_.emplace_back().base = static_cast<uint64_t>(value);
    Put(size_ / kRows, size_ % kRows, value);
    ++size_;
  }
  template <typename From>
  void Append(From from, From to) {
    for (; from != to; ++from) push_back(static_cast<T>(*from));
  }
  void Append(size_t rows, T value) { resize(size_ + rows, value); }
  void resize(size_t rows, T value = T{}) {
    while (size_ < rows) {
      push_back(value);
      // The rest of the chunk is alike if all of it is.
      Chunk& chunk = chunks_.back();
      if (chunk.width == 0) size_ = std::min(rows, chunks_.size() * kRows);
    }
    size_ = rows;
    chunks_.resize((rows + kRows - 1) / kRows);
  }
  void assign(size_t rows, T value) {
    *this = {};
    resize(rows, value);
  }
  // Gives room back that was taken for values that are no longer there.
  void Compact() {
    for (size_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].width != 0) Fit(c, std::min(kRows, size_ - c * kRows), nullptr);
    }
  }
  // Only the rows of `order`, in its order.
  void Permute(const std::vector<uint32_t>& order) {
    Column permuted;
    permuted.chunks_.reserve((order.size() + kRows - 1) / kRows);
    for (const uint32_t row : order) permuted.push_back(At(row));
    *this = std::move(permuted);
  }

 private:
  static constexpr size_t kRows = 1024;

  struct Chunk {
    Chunk() = default;
    Chunk(Chunk&&) noexcept = default;
    Chunk& operator=(Chunk&&) noexcept = default;
    Chunk(const Chunk& other) : base(other.base), width(other.width), room(other.room) {
      if (room == 0) return;
      bytes = std::make_unique<uint8_t[]>(room);
      std::memcpy(bytes.get(), other.bytes.get(), room);
    }
    Chunk& operator=(const Chunk& other) { return *this = Chunk(other); }

    uint64_t Load(size_t at) const {
      switch (width) {
        case 0:
          return 0;
        case 1:
          return bytes[at];
        case 2:
          return LoadAs<uint16_t>(at);
        case 4:
          return LoadAs<uint32_t>(at);
        default:
          return LoadAs<uint64_t>(at);
      }
    }
    void Store(size_t at, uint64_t number) {
      std::memcpy(bytes.get() + at * width, &number, width);  // the low bytes come first
    }
    template <typename Number>
    Number LoadAs(size_t at) const {
      Number number;
      std::memcpy(&number, bytes.get() + at * sizeof(Number), sizeof(Number));
      return number;
    }

    uint64_t base = 0;  // numbers are above it, modulo 2^64
    uint8_t width = 0;
    uint32_t room = 0;  // in bytes
    std::unique_ptr<uint8_t[]> bytes;
  };
  static_assert(std::endian::native == std::endian::little);

  static bool Fits(uint64_t number, uint8_t width) {
    return width == 8 || number >> (8 * width) == 0;
  }

  // Of a row that is there, or the next one.
  void Put(size_t c, size_t at, T value) {
    Chunk& chunk = chunks_[c];
    const uint64_t number = static_cast<uint64_t>(value) - chunk.base;
    if (chunk.width == 0 && number == 0) return;
    if (!Fits(number, chunk.width) || (at + 1) * chunk.width > chunk.room || chunk.width == 0) {
      const size_t end = c * kRows + at;
      Fit(c, end < size_ ? std::min(kRows, size_ - c * kRows) : at, &value);
      if (chunk.width == 0) return;
    }
    chunk.Store(at, static_cast<uint64_t>(value) - chunk.base);
  }

  // Makes a chunk as wide as its rows and one more value need. Where that value is below all of
  // them more may come there, and otherwise above.
  void Fit(size_t c, size_t rows, const T* more) {
    Chunk& chunk = chunks_[c];
    std::vector<T> values(rows);
    for (size_t i = 0; i < rows; ++i) values[i] = static_cast<T>(chunk.base + chunk.Load(i));
    T low = more != nullptr ? *more : values[0], high = low;
    for (const T value : values) low = std::min(low, value), high = std::max(high, value);
    const uint64_t spread = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const bool falls = more != nullptr && rows > 0 && *more == low;
    uint8_t width = spread == 0 ? 0 : 1;
    while (!Fits(falls ? 2 * spread : spread, width)) width = static_cast<uint8_t>(2 * width);
    if (spread >> 62 != 0) width = 8;
    // The first chunk is often the only one.
    const size_t most =
        c > 0 ? kRows : std::min(kRows, std::bit_ceil(std::max<size_t>(rows + 1, 8)));
    Chunk fresh;
    fresh.width = width;
    fresh.base = static_cast<uint64_t>(low);
    if (falls && width < 8) fresh.base -= ((uint64_t{1} << (8 * width)) - spread) / 2;
    fresh.room = static_cast<uint32_t>((more == nullptr ? rows : most) * width);
    if (width > 0) {
      fresh.bytes.reset(new uint8_t[fresh.room]());
      for (size_t i = 0; i < rows; ++i) {
        fresh.Store(i, static_cast<uint64_t>(values[i]) - fresh.base);
      }
    }
    chunk = std::move(fresh);
  }

  size_t size_ = 0;
  std::vector<Chunk> chunks_;
};

// Intervals, as their middles and how far their ends are from there.
class IntervalColumn {
 public:
  using value_type = clock::Interval;

  size_t size() const { return mid_ns_.size(); }
  clock::Interval operator[](size_t row) const {
    const auto mid_ns = static_cast<uint64_t>(mid_ns_[row]);
    return {static_cast<int64_t>(mid_ns - before_ns_[row]), mid_ns_[row],
            static_cast<int64_t>(mid_ns + after_ns_[row])};
  }
  void Set(size_t row, const clock::Interval& at) {
    mid_ns_.Set(row, at.mid_ns);
    before_ns_.Set(row, Apart(at.lo_ns, at.mid_ns));
    after_ns_.Set(row, Apart(at.mid_ns, at.hi_ns));
  }
  void push_back(const clock::Interval& at) {
    mid_ns_.push_back(at.mid_ns);
    before_ns_.push_back(Apart(at.lo_ns, at.mid_ns));
    after_ns_.push_back(Apart(at.mid_ns, at.hi_ns));
  }
  void Resize(size_t rows) {
    mid_ns_.resize(rows), before_ns_.resize(rows), after_ns_.resize(rows);
  }
  void Compact() { mid_ns_.Compact(), before_ns_.Compact(), after_ns_.Compact(); }
  void Permute(const std::vector<uint32_t>& order) {
    mid_ns_.Permute(order), before_ns_.Permute(order), after_ns_.Permute(order);
  }

 private:
  // Bounds lie on both sides of 0 where nothing is known.
  static uint64_t Apart(int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }

  Column<int64_t> mid_ns_;
  Column<uint64_t> before_ns_, after_ns_;
};

// Values that are the same for many rows in a row.
template <typename T>
class RunColumn {
 public:
  size_t size() const { return size_; }
  T operator[](size_t row) const {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                        [](size_t at, const Run& run) { return at < run.first; });
    return std::prev(after)->value;
  }
  void Append(size_t rows, T value) {
    if (rows == 0) return;
    if (runs_.empty() || !(runs_.back().value == value)) runs_.push_back({size_, value});
    size_ += rows;
  }
  void push_back(T value) { Append(1, value); }
  // change(row): another one for each row that has a value.
  template <typename Change>
  void Replace(T value, const Change& change) {
    RunColumn replaced;
    for (size_t r = 0; r < runs_.size(); ++r) {
      const size_t end = r + 1 < runs_.size() ? runs_[r + 1].first : size_;
      if (!(runs_[r].value == value)) {
        replaced.Append(end - runs_[r].first, runs_[r].value);
        continue;
      }
      for (size_t row = runs_[r].first; row < end; ++row) replaced.push_back(change(row));
    }
    *this = std::move(replaced);
  }

 private:
  struct Run {
    size_t first = 0;
    T value{};
  };
  std::vector<Run> runs_;
  size_t size_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMN_H_
