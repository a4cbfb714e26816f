// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/columns/row_numbers.h"

#include <algorithm>
#include <utility>

#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {

RowNumbers::RowNumbers(const stream::TableRows& from, int column)
    : rows_(from.rows()), view_(from.of(column)) {}

bool RowNumbers::AreWithin(uint64_t first, uint64_t end) const {
  uint64_t low = 0, high = 0;
  if (view_.narrow != nullptr && rows_ > 0) {
    uint32_t least = view_.narrow[0], most = least;
    stream::WidenTo(view_.narrow, rows_, &least, &most);
    low = least, high = most;
  } else if (view_.wide != nullptr && rows_ > 0) {
    low = high = view_.wide[0];
    stream::WidenTo(view_.wide, rows_, &low, &high);
  }
  return low + view_.base >= first && high + view_.base < end && high + view_.base >= high;
}

std::optional<uint64_t> RowNumbers::CountAbove(const RowNumbers& other) const {
  constexpr uint64_t kLarge = uint64_t{1} << 62;
  if (view_.base >= kLarge || other.view_.base >= kLarge || view_.wide != nullptr ||
      other.view_.wide != nullptr) {
    return std::nullopt;
  }
  std::unique_ptr<uint32_t[]> zeros;
  if (view_.narrow == nullptr || other.view_.narrow == nullptr) {
    zeros = std::make_unique<uint32_t[]>(rows_);
  }
  const auto numbers = [&](const stream::BlockColumn& of) {
    return of.narrow != nullptr ? of.narrow : zeros.get();
  };
  return stream::CountAbove(numbers(view_), numbers(other.view_), rows_,
                            static_cast<int64_t>(other.view_.base - view_.base));
}

void RowNumbers::Add(const RowNumbers& more) {
  const stream::BlockColumn& other = more.view_;
  if (view_.wide != nullptr || other.wide != nullptr) return AddWide(more);
  if (view_.narrow == nullptr || other.narrow == nullptr) {
    if (other.narrow != nullptr) {
      narrow_ = std::make_unique_for_overwrite<uint32_t[]>(rows_);
      std::copy_n(other.narrow, rows_, narrow_.get());
      view_.narrow = narrow_.get();
    }
  } else {
    auto sums = std::make_unique_for_overwrite<uint32_t[]>(rows_);
    if (!stream::AddNumbers(view_.narrow, other.narrow, rows_, sums.get())) return AddWide(more);
    narrow_ = std::move(sums);
    view_.narrow = narrow_.get();
  }
  view_.base += other.base;
}

void RowNumbers::AddWide(const RowNumbers& more) {
  std::unique_ptr<uint64_t[]> room;
  const auto as_wide = [&](const RowNumbers& of) {
    if (of.view_.wide != nullptr) return of.view_.wide;
    room = std::make_unique_for_overwrite<uint64_t[]>(rows_);
    of.view_.Read(0, rows_, room.get());
    return static_cast<const uint64_t*>(room.get());
  };
  const uint64_t *mine = as_wide(*this), *others = as_wide(more);  // one of them is wide
  if (wide_ == nullptr) wide_ = std::make_unique_for_overwrite<uint64_t[]>(rows_);
  stream::AddValues(mine, others, rows_, wide_.get());
  view_ = {0, nullptr, wide_.get()};
}

}  // namespace acceltrace::model
