// SPDX-License-Identifier: Apache-2.0
//
// Columns of a batch into columns of a table. Internal.
#ifndef LIBTRACE_MODEL_DECODE_COLUMNS_H_
#define LIBTRACE_MODEL_DECODE_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "libtrace/model/column.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::model {

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

// Ends from begins and durations; a duration that leaves the range of time ends there.
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

// Rows of a table on their way into the model's columns. Those that are dropped leave all of them.
class RowIntake {
 public:
  explicit RowIntake(const stream::TableRows& from) : from_(from) {}

  size_t rows() const { return any_dropped_ ? kept_.size() : from_.rows(); }
  // As they came.
  template <typename T>
  std::vector<T> All(int column) const {
    std::vector<T> values(from_.rows());
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
  // values: as they came; left as it is put.
  template <typename T>
  void Put(std::vector<T>* values, Column<T>* to) const {
    for (size_t i = 0; i < kept_.size(); ++i) (*values)[i] = (*values)[kept_[i]];
    to->AppendValues(values->data(), rows());
  }
  // The same of `each` values for a row, one after the other.
  template <typename T>
  void PutGroups(size_t each, std::vector<T>* values, Column<T>* to) const {
    for (size_t i = 0; i < kept_.size(); ++i) {
      std::copy_n(values->begin() + static_cast<ptrdiff_t>(kept_[i] * each), each,
                  values->begin() + static_cast<ptrdiff_t>(i * each));
    }
    to->AppendValues(values->data(), rows() * each);
  }
  template <typename T>
  void Put(int column, Column<T>* to) {
    if (!from_.has(column)) return to->Append(rows(), T{});
    std::vector<T>& values = Scratch<T>();
    values.resize(from_.rows());
    from_.Read(column, values.data());
    Put(&values, to);
  }

 private:
  template <typename T>
  std::vector<T>& Scratch() {
    return std::get<std::vector<T>>(scratch_);
  }

  const stream::TableRows& from_;
  bool any_dropped_ = false;
  std::vector<size_t> kept_;  // if any was dropped
  std::tuple<std::vector<uint64_t>, std::vector<uint32_t>, std::vector<uint8_t>,
             std::vector<int32_t>, std::vector<int64_t>>
      scratch_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_DECODE_COLUMNS_H_
