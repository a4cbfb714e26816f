// SPDX-License-Identifier: Apache-2.0
//
// Sums, by group or of all rows, without SQLite. Internal.
//
//   SELECT op, count(*), sum(end_ticks - start_ticks) FROM commands GROUP BY op
//
// SQLite sorts all rows to group them, which takes ten times as long as to read them. Queries of
// this form alone are answered here, with what SQLite would have answered, in its order; whatever
// does not fit is SQLite's. Their rows need not be there all at once: RowStream.
#ifndef LIBTRACE_QUERY_GROUPING_H_
#define LIBTRACE_QUERY_GROUPING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libtrace/query/sql.h"
#include "libtrace/query/tables.h"
#include "libtrace/query/virtual_table.h"

namespace acceltrace::query {

struct Grouping {
  enum class Function { kKey, kCount, kSum, kAverage, kLeast, kMost };
  // A column of the answer. It is of the table's column `left`, or of left - right, left + right;
  // a key's is the place of its column in `keys`.
  struct Item {
    Function function = Function::kKey;
    bool of_rows = false;  // count(*)
    std::string left, right, alias;
    char sign = 0;
  };
  struct Order {
    size_t item = 0;
    bool falls = false;
  };
  // WHERE: all of them. A whole number, or text without quotes in it.
  struct Condition {
    std::string column;
    Op op = Op::kEqual;
    std::variant<int64_t, std::string> value;
  };
  std::string table;
  std::vector<Item> items;
  std::vector<Condition> conditions;
  std::vector<std::string> keys;  // none: all rows are one group, even if there are none
  std::vector<Order> order;
  std::optional<uint64_t> most;  // LIMIT

  // None: it has another form. It is a query all the same.
  static std::optional<Grouping> Parse(std::string_view sql);
};

// The rows of the answer. Text stays where it is as long as the model and the table.
using GroupedRows = std::vector<std::vector<Value>>;
// None: SQLite has to answer, since there are numbers that do not fit, too many groups, columns
// of another type or that are not there, or the budget is used up.
std::optional<GroupedRows> Group(const Grouping& grouping, Source* source);
// The same of rows that come one after the other; also none if they end early.
std::optional<GroupedRows> Group(const Grouping& grouping, RowStream* rows, Budget* budget);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_GROUPING_H_
