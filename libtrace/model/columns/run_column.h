// SPDX-License-Identifier: Apache-2.0
//
// A column with few distinct values. Internal.
#ifndef LIBTRACE_MODEL_COLUMNS_RUN_COLUMN_H_
#define LIBTRACE_MODEL_COLUMNS_RUN_COLUMN_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace acceltrace::model {

// Stores values that are equal for many consecutive rows. Not thread-safe.
template <typename T>
class RunColumn {
 public:
  size_t size() const { return size_; }
  T operator[](size_t row) const {
    // Most lookups are in order.
    for (size_t r = last_; r < std::min(last_ + 2, runs_.size()); ++r) {
      if (runs_[r].first > row) break;
      if (r + 1 == runs_.size() || row < runs_[r + 1].first) return runs_[last_ = r].value;
    }
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                        [](size_t at, const Run& run) { return at < run.first; });
    last_ = static_cast<size_t>(after - runs_.begin()) - 1;
    return runs_[last_].value;
  }
  void Append(size_t rows, T value) {
    if (rows == 0) return;
    if (runs_.empty() || !(runs_.back().value == value)) runs_.push_back({size_, value});
    size_ += rows;
  }
  void push_back(T value) { Append(1, value); }
  // Replaces `value` by change(row) in each row that has it.
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
  mutable size_t last_ = 0;  // last run that was used
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_RUN_COLUMN_H_
