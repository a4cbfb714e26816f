// SPDX-License-Identifier: Apache-2.0
//
// A column of a table.
//
// Many columns of a trace hold one value in all of their rows: what a batch leaves out, the only
// device, no error. Such a column takes no room, whatever the number of its rows.
#ifndef LIBTRACE_MODEL_COLUMN_H_
#define LIBTRACE_MODEL_COLUMN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
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

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T At(size_t row) const { return values_.empty() ? value_ : values_[row]; }
  T operator[](size_t row) const { return At(row); }
  Place operator[](size_t row) { return {this, row}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  T front() const { return At(0); }
  T back() const { return At(size_ - 1); }

  void Set(size_t row, T value) {
    if (values_.empty()) {
      if (value == value_) return;
      values_.assign(size_, value_);
    }
    values_[row] = value;
  }
  void push_back(T value) {
    if (!Takes(value)) values_.push_back(value);
    ++size_;
  }
  template <typename From>
  void Append(From from, From to) {
    for (; from != to && values_.empty(); ++from) push_back(static_cast<T>(*from));
    values_.insert(values_.end(), from, to);
    if (!values_.empty()) size_ = values_.size();
  }
  void Append(size_t rows, T value) { resize(size_ + rows, value); }
  void resize(size_t rows, T value = T{}) {
    if (rows > size_ && !Takes(value)) values_.resize(rows, value);
    if (rows < size_ && !values_.empty()) values_.resize(rows);
    size_ = rows;
    if (size_ == 0) values_.clear();
  }
  void assign(size_t rows, T value) {
    *this = {};
    resize(rows, value);
  }
  // Gives room back that was taken for values which are alike now.
  void Compact() {
    if (values_.empty() || std::adjacent_find(values_.begin(), values_.end(),
                                              std::not_equal_to<T>()) != values_.end()) {
      return;
    }
    value_ = values_.front();
    values_ = std::vector<T>();
  }
  // Only the rows of `order`, in its order.
  void Permute(const std::vector<uint32_t>& order) {
    size_ = order.size();
    if (!values_.empty()) PermuteValues(order, &values_);
  }

 private:
  // Whether one more of a value, or many, leave all of them alike; else these have room now.
  bool Takes(T value) {
    if (size_ == 0) value_ = value;
    if (values_.empty() && value == value_) return true;
    if (values_.empty()) values_.assign(size_, value_);
    return false;
  }

  size_t size_ = 0;
  T value_{};              // of all rows ...
  std::vector<T> values_;  // ... unless this has any
};

// Intervals whose ends are within seconds of their middle, as a rule: then two thirds of the room.
class IntervalColumn {
 public:
  using value_type = clock::Interval;

  size_t size() const { return wide_.empty() ? narrow_.size() : wide_.size(); }
  clock::Interval operator[](size_t row) const {
    if (!wide_.empty()) return wide_[row];
    const Narrow& at = narrow_[row];
    return {at.mid_ns - at.before_ns, at.mid_ns, at.mid_ns + at.after_ns};
  }
  void Set(size_t row, const clock::Interval& at) {
    if (wide_.empty() && Fits(at)) {
      narrow_[row] = {at.mid_ns, static_cast<uint32_t>(at.mid_ns - at.lo_ns),
                      static_cast<uint32_t>(at.hi_ns - at.mid_ns)};
      return;
    }
    Widen();
    wide_[row] = at;
  }
  void push_back(const clock::Interval& at) {
    Resize(size() + 1);
    Set(size() - 1, at);
  }
  void Resize(size_t rows) {
    if (wide_.empty()) {
      narrow_.resize(rows);
    } else {
      wide_.resize(rows);
    }
  }
  void Permute(const std::vector<uint32_t>& order) {
    if (wide_.empty()) {
      PermuteValues(order, &narrow_);
    } else {
      PermuteValues(order, &wide_);
    }
  }

 private:
  struct Narrow {
    int64_t mid_ns = 0;
    uint32_t before_ns = 0, after_ns = 0;
  };
  static bool Fits(const clock::Interval& at) {
    const auto apart = [](int64_t from, int64_t to) {
      return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    };
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    return apart(at.lo_ns, at.mid_ns) <= kMost && apart(at.mid_ns, at.hi_ns) <= kMost;
  }
  void Widen() {
    if (!wide_.empty()) return;
    std::vector<clock::Interval> wide;
    wide.reserve(narrow_.size());
    for (size_t row = 0; row < narrow_.size(); ++row) wide.push_back((*this)[row]);
    wide_ = std::move(wide);
    narrow_ = std::vector<Narrow>();
  }

  std::vector<Narrow> narrow_;
  std::vector<clock::Interval> wide_;  // if any does not fit
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
