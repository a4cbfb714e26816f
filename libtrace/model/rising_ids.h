// SPDX-License-Identifier: Apache-2.0
//
// Rows by an id, where ids rise from row to row, as those that one thread gives do: nothing is made
// to find them.
#ifndef LIBTRACE_MODEL_RISING_IDS_H_
#define LIBTRACE_MODEL_RISING_IDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libtrace/model/column.h"
#include "libtrace/model/permute.h"
#include "libtrace/model/tables.h"

namespace acceltrace::model {

class RisingIds {
 public:
  explicit RisingIds(const Column<uint64_t>& ids) : ids_(ids), rise_(AllRise(ids)) {}
  // Whether they do; else Find() is not to be called.
  bool rise() const { return rise_; }
  // The row, or kNoRow. Ids that are asked for come in order, about.
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
      // As a rule so are the ones behind it.
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
  size_t near_ = 0;               // of the one before
  size_t first_ = 0, count_ = 0;  // rows that were read
  std::array<uint64_t, kRows> read_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_RISING_IDS_H_
