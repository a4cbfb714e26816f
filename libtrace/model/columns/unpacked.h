// SPDX-License-Identifier: Apache-2.0
//
// Reads values of a column with nearby lookups by unpacking a chunk at a time. Internal.
#ifndef LIBTRACE_MODEL_COLUMNS_UNPACKED_H_
#define LIBTRACE_MODEL_COLUMNS_UNPACKED_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/model/columns/column.h"

namespace acceltrace::model {

template <typename T>
class Unpacked {
 public:
  explicit Unpacked(const Column<T>& column) : column_(column) {}
  T operator[](size_t row) {
    if (row - first_ >= kRows) {
      first_ = row / kRows * kRows;
      column_.Read(first_, kRows, values_);
    }
    return values_[row - first_];
  }

 private:
  static constexpr size_t kRows = Column<T>::kRows;
  const Column<T>& column_;
  size_t first_ = SIZE_MAX / 2;
  T values_[kRows];
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_UNPACKED_H_
