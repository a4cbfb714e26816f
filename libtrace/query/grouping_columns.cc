// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/grouping_columns.h"

#include <utility>

namespace acceltrace::query {
namespace {

bool AnyHigh(const uint64_t* values, size_t rows) {
  uint64_t all = 0;
  for (size_t i = 0; i < rows; ++i) all |= values[i];
  return all >> 63 != 0;
}

}  // namespace

void NumberColumn::Read(size_t first, size_t rows) {
  any_other_ = any_negative_ = false;
  seen_ = nullptr;
  if (is_text() && column_.keys != nullptr) {
    numbers_.resize(rows);
    column_.keys(first, rows, numbers_.data());
    values_ = numbers_.data();
    return;
  }
  column_.cells(first, rows, &cells_);
  if (cells_.kind() == ColumnCells::Kind::kAny) return ReadAny(rows);
  values_ = cells_.integers().data();
  seen_ = cells_.seen().empty() ? nullptr : cells_.seen().data();
  const bool high = AnyHigh(values_, rows);
  any_other_ = high && cells_.kind() == ColumnCells::Kind::kUnsigned;
  any_negative_ = high && cells_.kind() == ColumnCells::Kind::kSigned;
}

void NumberColumn::ReadAny(size_t rows) {
  numbers_.resize(rows), some_.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    const Cell& cell = cells_.any(i);
    some_[i] = !std::holds_alternative<std::monostate>(cell);
    numbers_[i] = 0;
    if (const auto* text = std::get_if<std::string_view>(&cell); text != nullptr && is_text()) {
      numbers_[i] = NumberOf(*text);
    } else if (const auto* number = std::get_if<int64_t>(&cell)) {
      numbers_[i] = static_cast<uint64_t>(*number);
      any_negative_ |= *number < 0;
    } else if (const auto* large = std::get_if<uint64_t>(&cell)) {
      numbers_[i] = *large;
      any_other_ |= *large >> 63 != 0;
    } else {
      any_other_ |= some_[i] != 0;
    }
  }
  values_ = numbers_.data(), seen_ = some_.data();
}

// Mostly it is where that of the row before is.
uint64_t NumberColumn::NumberOf(std::string_view text) {
  if (text.data() != last_.data() || text.size() != last_.size() || texts_.empty()) {
    const auto next = static_cast<uint64_t>(texts_.size());
    last_ = text, last_number_ = texts_.try_emplace(std::string(text), next).first->second;
  }
  return last_number_;
}

void NumberColumn::Keep(const std::vector<uint32_t>& rows) {
  std::vector<uint64_t> kept(rows.size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = values_[rows[i]];
  if (seen_ != nullptr) {
    std::vector<uint8_t> some(rows.size());
    for (size_t i = 0; i < some.size(); ++i) some[i] = seen_[rows[i]];
    some_ = std::move(some), seen_ = some_.data();
  }
  numbers_ = std::move(kept), values_ = numbers_.data();
}

}  // namespace acceltrace::query
