// SPDX-License-Identifier: Apache-2.0
//
// Finds rows by an id without an index if ids rise from row to row, as those of one thread do.
#ifndef LIBTRACE_MODEL_TABLES_RISING_IDS_H_
#define LIBTRACE_MODEL_TABLES_RISING_IDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libtrace/model/columns/column.h"
#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/tables.h"

namespace acceltrace::model {

class RisingIds {
 public:
  explicit RisingIds(const Column<uint64_t>& ids) : ids_(ids), rise_(AllRise(ids)) {}
  // Returns true if ids rise; otherwise, Find() must not be called.
  bool rise() const { return rise_; }
  // Returns the row, or kNoRow. Lookups should be roughly in order.
  uint32_t Find(uint64_t id) {
    const size_t at = near_ + 1 - first_;
    if (at < count_ && read_[at] == id) return static_cast<uint32_t>(++near_);
    return FindFar(id);
  }

 private:
  static constexpr size_t kRows = Column<uint64_t>::kRows;

  uint32_t FindFar(uint64_t id) {
    if (near_ < ids_.size() && ids_.At(near_) == id) return static_cast<uint32_t>(near_);
    const size_t next = near_ + 1;
    if (next < ids_.size() && ids_.At(next) == id) {
      // Usually, the next lookups are for the following ids.
      first_ = next, count_ = std::min(kRows - next % kRows, ids_.size() - next);
      ids_.Read(first_, count_, read_.data());
      return static_cast<uint32_t>(near_ = next);
    }
    size_t low = 0, high = ids_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      ids_.At(middle) < id ? low = middle + 1 : high = middle;
    }
    if (low == ids_.size() || ids_.At(low) != id) return kNoRow;
    return static_cast<uint32_t>(near_ = low);
  }

  const Column<uint64_t>& ids_;
  const bool rise_;
  size_t near_ = 0;               // of the previous lookup
  size_t first_ = 0, count_ = 0;  // rows in read_
  std::array<uint64_t, kRows> read_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_RISING_IDS_H_
