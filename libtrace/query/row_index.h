// SPDX-License-Identifier: Apache-2.0
//
// Finds the rows of a table that satisfy constraints on its columns, and their order by columns.
// Internal.
//
// A sorted column is searched; a column that is searched for single values repeatedly, as by joins,
// gets an index; everything else is compared row by row.
#ifndef LIBTRACE_QUERY_ROW_INDEX_H_
#define LIBTRACE_QUERY_ROW_INDEX_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "libtrace/query/tables.h"

namespace acceltrace::query {

enum class Op : char { kEqual = '=', kGreater = '>', kAtLeast = 'g', kLess = '<', kAtMost = 'l' };

struct Constraint {
  int column = 0;
  Op op = Op::kEqual;
  std::variant<int64_t, double, std::string> value;

  bool Allows(const Cell& cell) const;
};

class RowIndex {
 public:
  explicit RowIndex(const PlainTable* table) : table_(table), uses_(table->columns.size()) {}

  // A subset of the rows: a range [begin, end), or a list.
  struct Rows {
    size_t begin = 0, end = 0;
    const std::vector<uint32_t>* list = nullptr;
    size_t At(size_t place) const { return list == nullptr ? place : (*list)[place]; }
  };
  // Returns a superset of the rows that satisfy all constraints, in rising order.
  Rows Narrow(const std::vector<Constraint>& constraints);
  // Returns all rows, sorted by these columns as SQL orders values. Equal ones are in rising order.
  Rows OrderedBy(const std::vector<int>& columns);

 private:
  // The sorted values of a column, and the row of each. Text is replaced by numbers.
  struct Column {
    std::vector<int64_t> values;
    std::vector<uint32_t> rows;
    std::unordered_map<std::string_view, int64_t> texts;
  };
  // More searches for single values cost more than an index.
  static constexpr uint32_t kFreeSearches = 3;

  void NarrowSorted(const Constraint& constraint, Rows* rows) const;
  bool Lookup(const Constraint& constraint, Rows* rows);
  const Column& IndexOf(int column);
  std::vector<uint32_t> RanksOf(int column) const;

  const PlainTable* table_;
  std::vector<uint32_t> uses_;  // by column
  std::unordered_map<int, std::unique_ptr<Column>> indexes_;
  std::map<std::vector<int>, std::vector<uint32_t>> orders_;  // by columns
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_ROW_INDEX_H_
