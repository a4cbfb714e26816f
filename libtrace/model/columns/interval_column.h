// SPDX-License-Identifier: Apache-2.0
//
// A column of intervals.
#ifndef LIBTRACE_MODEL_COLUMNS_INTERVAL_COLUMN_H_
#define LIBTRACE_MODEL_COLUMNS_INTERVAL_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/model/columns/column.h"

namespace acceltrace::model {

// Computes the intervals that an IntervalColumn does not store.
class IntervalSource {
 public:
  virtual ~IntervalSource() = default;
  virtual clock::Interval At(size_t row) const = 0;
};

// Intervals, stored as their middles and the distances of their ends.
class IntervalColumn {
 public:
  using value_type = clock::Interval;

  size_t size() const { return mid_ns_.size(); }
  clock::Interval operator[](size_t row) const {
    if (source_ != nullptr) return source_->At(row);
    const auto mid_ns = static_cast<uint64_t>(mid_ns_[row]);
    return {static_cast<int64_t>(mid_ns - before_ns_[row]), mid_ns_[row],
            static_cast<int64_t>(mid_ns + after_ns_[row])};
  }
  // Returns only the middle.
  int64_t MidNs(size_t row) const {
    return source_ != nullptr ? source_->At(row).mid_ns : mid_ns_[row];
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
  const Column<int64_t>& mid_ns() const { return mid_ns_; }
  // The distances of lo_ns and hi_ns from the middle.
  const Column<uint64_t>& before_ns() const { return before_ns_; }
  const Column<uint64_t>& after_ns() const { return after_ns_; }
  // Writes middles and the distances of the ends.
  void Write(size_t first, size_t rows, const int64_t* mid_ns, const uint64_t* before_ns,
             const uint64_t* after_ns) {
    mid_ns_.Write(first, rows, mid_ns);
    before_ns_.Write(first, rows, before_ns), after_ns_.Write(first, rows, after_ns);
  }
  // Unsigned, because the bounds may be on both sides of 0 and far apart if nothing is known.
  static uint64_t Apart(int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }
  void Resize(size_t rows) {
    mid_ns_.resize(rows), before_ns_.resize(rows), after_ns_.resize(rows);
  }
  void Compact() { mid_ns_.Compact(), before_ns_.Compact(), after_ns_.Compact(); }
  void Permute(const std::vector<uint32_t>& order) {
    if (mid_ns_.empty()) return;
    mid_ns_.Permute(order), before_ns_.Permute(order), after_ns_.Permute(order);
  }

  // For a column without rows: sets the source of its intervals.
  void Attach(std::shared_ptr<const IntervalSource> source) { source_ = std::move(source); }

 private:
  Column<int64_t> mid_ns_;
  Column<uint64_t> before_ns_, after_ns_;
  std::shared_ptr<const IntervalSource> source_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_INTERVAL_COLUMN_H_
