// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/row_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

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

// Returns false for cells that SQL cannot represent as a number; SQLite compares these itself.
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

std::string TextOf(const Cell& cell) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
  const auto* u = std::get_if<uint64_t>(&cell);
  return u == nullptr ? "" : std::to_string(*u);
}

// SQL orders NULL before numbers before text; numbers above 2^63 - 1 are text.
bool Before(const Cell& a, const Cell& b) {
  const auto rank = [](const Cell& cell) {
    int64_t number = 0;
    return std::holds_alternative<std::monostate>(cell) ? 0 : Fits(cell, &number) ? 1 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 0) return false;
  if (rank(a) == 2) return TextOf(a) < TextOf(b);
  int64_t left = 0, right = 0;
  return Fits(a, &left) && Fits(b, &right) && left < right;
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
  // Returns the first row whose value is at least `value`, or above it.
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
  std::vector<std::pair<int64_t, uint32_t>> found_rows;
  found_rows.reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    const Cell found = cell(row);
    int64_t key = 0;
    if (const auto* text = std::get_if<std::string_view>(&found)) {
      key =
          index->texts.try_emplace(*text, static_cast<int64_t>(index->texts.size())).first->second;
    } else if (!Fits(found, &key)) {
      continue;  // NULL, or text in SQL, which equals no number
    }
    found_rows.emplace_back(key, static_cast<uint32_t>(row));
  }
  std::sort(found_rows.begin(), found_rows.end());
  for (const auto& [value, row] : found_rows) {
    index->values.push_back(value), index->rows.push_back(row);
  }
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
  const auto [first, last] = std::equal_range(index.values.begin(), index.values.end(), key);
  rows->begin = static_cast<size_t>(first - index.values.begin());
  rows->end = static_cast<size_t>(last - index.values.begin());
  return true;
}

// Returns for each row the rank of its value among the different values of the column.
std::vector<uint32_t> RowIndex::RanksOf(int column) const {
  const PlainTable::Column& of = table_->columns[static_cast<size_t>(column)];
  std::vector<uint32_t> ranks;  // first numbers of values, in the order of their first occurrence
  ranks.reserve(table_->rows());
  std::unordered_map<Cell, uint32_t> numbers;
  std::vector<Cell> values;
  ColumnCells cells;
  for (size_t rows = table_->rows(), first = 0, count = 0; first < rows; first += count) {
    count = std::min(kRowsAtOnce, rows - first);
    of.cells(first, count, &cells);
    for (size_t i = 0; i < count; ++i) {
      const Cell cell = cells[i];
      if (ranks.empty() || cell != values[ranks.back()]) {
        const auto number = static_cast<uint32_t>(values.size());
        const auto [found, is_new] = numbers.try_emplace(cell, number);
        if (is_new) values.push_back(cell);
        ranks.push_back(found->second);
      } else {
        ranks.push_back(ranks.back());
      }
    }
  }
  std::vector<uint32_t> order(values.size()), rank_of(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return Before(values[a], values[b]); });
  for (uint32_t rank = 0; rank < order.size(); ++rank) rank_of[order[rank]] = rank;
  for (uint32_t& rank : ranks) rank = rank_of[rank];
  return ranks;
}

RowIndex::Rows RowIndex::OrderedBy(const std::vector<int>& columns) {
  const auto [found, is_new] = orders_.try_emplace(columns);
  std::vector<uint32_t>& order = found->second;
  if (is_new) {
    order.resize(table_->rows());
    std::iota(order.begin(), order.end(), 0u);
    // Starts with the last column: a later sort keeps the order of equal rows.
    for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
      const std::vector<uint32_t> ranks = RanksOf(*column);
      std::vector<uint32_t> begins, sorted(order.size());
      for (const uint32_t rank : ranks) {
        if (begins.size() < rank + 2) begins.resize(rank + 2);
        ++begins[rank + 1];
      }
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      for (const uint32_t row : order) sorted[begins[ranks[row]]++] = row;
      order = std::move(sorted);
    }
  }
  return {0, order.size(), &order};
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
