// SPDX-License-Identifier: Apache-2.0
//
// Appends columns of a batch to columns of a table. Internal.
#ifndef LIBTRACE_MODEL_COLUMNS_DECODE_COLUMNS_H_
#define LIBTRACE_MODEL_COLUMNS_DECODE_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "libtrace/model/columns/column.h"
#include "libtrace/model/columns/row_numbers.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::model {

// Large batches are processed in parts of this size, which fits into caches.
inline constexpr size_t kRowsAtOnce = 4096;

template <typename To, typename From>
void Append(Column<To>* to, const google::protobuf::RepeatedField<From>& column, size_t rows) {
  const size_t have = std::min<size_t>(column.size(), rows);
  to->Append(column.begin(), column.begin() + have);
  to->resize(to->size() + rows - have);
}

template <typename To>
void AppendDeltas(Column<To>* to, const google::protobuf::RepeatedField<int64_t>& column,
                  size_t rows) {
  constexpr size_t kRows = Column<To>::kRows;
  stream::DeltaDecoder decoder(column);
  To values[kRows];
  for (size_t done = 0; done < rows; done += kRows) {
    const size_t count = std::min(kRows, rows - done);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<To>(decoder.NextUnsigned());
    to->AppendValues(values, count);
  }
}

// Returns an end from a begin and a duration, limited to the range of time.
inline int64_t EndOf(int64_t begin, uint64_t duration) {
  int64_t end = 0;
  const bool beyond = __builtin_add_overflow(begin, duration, &end);
  return beyond ? std::numeric_limits<int64_t>::max() : end;
}

inline void AppendEnds(Column<int64_t>* ends, const Column<int64_t>& begins,
                       const google::protobuf::RepeatedField<uint64_t>& durations, size_t rows) {
  const size_t first = begins.size() - rows;
  for (size_t i = 0; i < rows; ++i) {
    ends->push_back(EndOf(begins[first + i], stream::ColumnAt(durations, i)));
  }
}

// An uninitialised buffer of values for rows.
template <typename T>
class RowValues {
 public:
  explicit RowValues(size_t rows)
      : values_(std::make_unique_for_overwrite<T[]>(rows)), size_(rows) {}

  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  size_t size() const { return size_; }
  T* begin() { return values_.get(); }
  T* end() { return values_.get() + size_; }
  const T* begin() const { return values_.get(); }
  const T* end() const { return values_.get() + size_; }
  T& operator[](size_t row) { return values_[row]; }
  const T& operator[](size_t row) const { return values_[row]; }

 private:
  std::unique_ptr<T[]> values_;
  size_t size_;
};

// Appends the rows of a batch to the model's columns. Dropped rows are left out of all of them.
class RowIntake {
 public:
  explicit RowIntake(const stream::TableRows& from) : from_(from) {}

  size_t rows() const { return any_dropped_ ? kept_.size() : from_.rows(); }
  // Returns all values of a column, including those of dropped rows.
  template <typename T>
  RowValues<T> All(int column) const {
    RowValues<T> values(from_.rows());
    from_.Read(column, values.data());
    return values;
  }
  template <typename Drop>
  void DropIf(const Drop& drop) {
    for (size_t row = 0; row < from_.rows(); ++row) any_dropped_ |= drop(row);
    for (size_t row = 0; any_dropped_ && row < from_.rows(); ++row) {
      if (!drop(row)) kept_.push_back(row);
    }
  }
  // values: including those of dropped rows.
  template <typename T>
  void Put(const RowValues<T>& values, Column<T>* to) const {
    PutGroups(1, values.data(), to);
  }
  // The same for `each` consecutive values per row, or for 32-bit numbers.
  template <typename V, typename T>
  void PutGroups(size_t each, const V* values, Column<T>* to) const {
    if (!any_dropped_) return AppendValues(values, rows() * each, to);
    RowValues<V> kept(rows() * each);
    for (size_t i = 0; i < kept_.size(); ++i) {
      std::copy_n(values + kept_[i] * each, each, kept.begin() + i * each);
    }
    AppendValues(kept.data(), kept.size(), to);
  }
  template <typename T>
  void Put(const RowNumbers& numbers, Column<T>* to) const {
    const stream::BlockColumn& view = numbers.view();
    if (!any_dropped_ && view.narrow != nullptr) {
      return to->AppendNumbers(view.base, view.narrow, rows());
    }
    if (!any_dropped_ && view.wide == nullptr) return to->Append(rows(), static_cast<T>(view.base));
    if (!any_dropped_ && sizeof(T) == sizeof(*view.wide)) {
      return to->AppendValues(reinterpret_cast<const T*>(view.wide), rows());
    }
    RowValues<T> kept(rows());
    for (size_t i = 0; i < kept.size(); ++i) {
      kept[i] = static_cast<T>(numbers[any_dropped_ ? kept_[i] : i]);
    }
    to->AppendValues(kept.data(), kept.size());
  }
  template <typename T>
  void Put(int column, Column<T>* to) const {
    Put(RowNumbers(from_, column), to);
  }

 private:
  template <typename V, typename T>
  static void AppendValues(const V* values, size_t rows, Column<T>* to) {
    if constexpr (sizeof(V) == sizeof(T)) {
      to->AppendValues(values, rows);
    } else {
      to->AppendNumbers(0, values, rows);
    }
  }

  const stream::TableRows& from_;
  bool any_dropped_ = false;
  std::vector<size_t> kept_;  // if any row was dropped
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_DECODE_COLUMNS_H_
