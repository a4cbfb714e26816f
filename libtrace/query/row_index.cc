// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/row_index.h"

#include <algorithm>
#include <limits>

namespace acceltrace::query {
namespace {

template <typename T>
bool Compare(const T& left, Op op, const T& right) {
  switch (op) {
    case Op::kEqual:
      return left == right;
    case Op::kGreater:
      return left > right;
    case Op::kAtLeast:
      return left >= right;
    case Op::kLess:
      return left < right;
    case Op::kAtMost:
      return left <= right;
  }
  return true;
}

// What SQL cannot hold as a number is text to it: such cells are left to it.
bool Fits(const Cell& cell, int64_t* value) {
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    *value = *i;
    return true;
  }
  const auto* u = std::get_if<uint64_t>(&cell);
  if (u == nullptr || *u > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
  *value = static_cast<int64_t>(*u);
  return true;
}

}  // namespace

bool Constraint::Allows(const Cell& cell) const {
  if (std::holds_alternative<std::monostate>(cell)) return false;
  if (const auto* wanted = std::get_if<int64_t>(&value)) {
    int64_t number = 0;
    return !Fits(cell, &number) || Compare(number, op, *wanted);
  }
  if (const auto* wanted = std::get_if<double>(&value)) {
    const auto* number = std::get_if<double>(&cell);
    return number == nullptr || Compare(*number, op, *wanted);
  }
  const auto* text = std::get_if<std::string_view>(&cell);
  return text == nullptr || Compare(*text, op, std::string_view(std::get<std::string>(value)));
}

void RowIndex::NarrowSorted(const Constraint& constraint, Rows* rows) const {
  const int64_t wanted = std::get<int64_t>(constraint.value);
  const auto& cell = table_->columns[static_cast<size_t>(constraint.column)].cell;
  // The first row whose value is at least `value`, or above it.
  const auto first = [&](bool above) {
    size_t lo = rows->begin, hi = rows->end;
    while (lo < hi) {
      const size_t middle = lo + (hi - lo) / 2;
      int64_t number = 0;
      const bool before =
          Fits(cell(middle), &number) && (above ? number <= wanted : number < wanted);
      (before ? lo : hi) = before ? middle + 1 : middle;
    }
    return lo;
  };
  switch (constraint.op) {
    case Op::kEqual:
      rows->begin = first(false);
      rows->end = first(true);
      break;
    case Op::kGreater:
      rows->begin = first(true);
      break;
    case Op::kAtLeast:
      rows->begin = first(false);
      break;
    case Op::kLess:
      rows->end = first(false);
      break;
    case Op::kAtMost:
      rows->end = first(true);
      break;
  }
}

const RowIndex::Column& RowIndex::IndexOf(int column) {
  std::unique_ptr<Column>& index = indexes_[column];
  if (index) return *index;
  index = std::make_unique<Column>();
  const auto& cell = table_->columns[static_cast<size_t>(column)].cell;
  const size_t rows = table_->rows();
  index->rows.reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    const Cell found = cell(row);
    int64_t key = 0;
    if (const auto* text = std::get_if<std::string_view>(&found)) {
      key =
          index->texts.try_emplace(*text, static_cast<int64_t>(index->texts.size())).first->second;
    } else if (!Fits(found, &key)) {
      continue;  // nothing, or text to SQL, which no number equals
    }
    index->rows.emplace_back(key, static_cast<uint32_t>(row));
  }
  std::sort(index->rows.begin(), index->rows.end());
  return *index;
}

bool RowIndex::Lookup(const Constraint& constraint, Rows* rows) {
  const size_t column = static_cast<size_t>(constraint.column);
  const bool text = table_->columns[column].type == PlainTable::Type::kText;
  if (constraint.op != Op::kEqual || std::holds_alternative<double>(constraint.value)) return false;
  if (text != std::holds_alternative<std::string>(constraint.value)) return false;
  if (++uses_[column] <= kFreeSearches) return false;
  const Column& index = IndexOf(constraint.column);
  rows->list = &index.rows;
  rows->begin = rows->end = 0;
  int64_t key = 0;
  if (text) {
    const auto found = index.texts.find(std::get<std::string>(constraint.value));
    if (found == index.texts.end()) return true;
    key = found->second;
  } else {
    key = std::get<int64_t>(constraint.value);
  }
  const auto first =
      std::lower_bound(index.rows.begin(), index.rows.end(), std::make_pair(key, 0u));
  const auto last = std::upper_bound(first, index.rows.end(), std::make_pair(key, UINT32_MAX));
  rows->begin = static_cast<size_t>(first - index.rows.begin());
  rows->end = static_cast<size_t>(last - index.rows.begin());
  return true;
}

RowIndex::Rows RowIndex::Narrow(const std::vector<Constraint>& constraints) {
  Rows rows;
  rows.end = table_->rows();
  for (const Constraint& constraint : constraints) {
    if (constraint.column == table_->sorted && std::holds_alternative<int64_t>(constraint.value)) {
      NarrowSorted(constraint, &rows);
    }
  }
  for (const Constraint& constraint : constraints) {
    Rows listed;
    if (!Lookup(constraint, &listed)) continue;
    if (listed.end - listed.begin < rows.end - rows.begin) return listed;
  }
  return rows;
}

}  // namespace acceltrace::query
