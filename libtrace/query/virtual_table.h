// SPDX-License-Identifier: Apache-2.0
//
// Tables of the model as virtual tables of SQLite. Internal.
#ifndef LIBTRACE_QUERY_VIRTUAL_TABLE_H_
#define LIBTRACE_QUERY_VIRTUAL_TABLE_H_

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/query/row_index.h"
#include "libtrace/query/tables.h"

namespace acceltrace::query {

// What a query may still do; a step is an instruction of SQLite, or a row that was looked at.
struct Budget {
  uint64_t steps = UINT64_MAX;
  // Asked each time that so many steps are done whether there is time for more.
  static constexpr uint64_t kStepsBetween = 1 << 16;
  std::function<bool()> in_time;
  uint64_t since = 0;
  bool late = false;
  // A table tells SQLite its columns, which it does by SQL that no query may have.
  bool declaring = false;
  bool Take(uint64_t some) {
    const bool enough = steps >= some;
    steps = enough ? steps - some : 0;
    since += some;
    if (since >= kStepsBetween) {
      since = 0;
      late = late || (in_time && !in_time());
    }
    return enough && !late;
  }
};

// What a statement that was run asked of a table's columns.
struct Searches {
  std::vector<size_t> columns;  // of these
  int cursors = 0, searches = 0;
  int64_t lo = INT64_MIN, hi = INT64_MAX;  // between which they lie in whatever was searched for
};

// A table, and what is remembered of it from one search to the next.
struct Source {
  Source(PlainTable plain, Budget* limit) : table(std::move(plain)), index(&table), budget(limit) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  PlainTable table;
  RowIndex index;
  Budget* budget;
  // By the statements that were prepared: whether one of them names it, and a bit for each column
  // that one of them uses; those from the 63rd on share theirs.
  bool named = false;
  uint64_t used = 0;
  Searches* noted = nullptr;
  // A column that is not there says so instead of an answer. Empty: all are there.
  std::vector<bool> there;
};

// There is a table with its name from now on. The source must outlive the connection.
int AddVirtualTable(sqlite3* db, Source* source);

// "device" TEXT, "job", ...: integers have no declared type, so that SQLite never rounds those
// that need all of 64 bits.
std::string ColumnDefinitions(const PlainTable& table);
// A name as SQL has it.
std::string Quoted(const std::string& name);
// Numbers above 2^63 - 1 become their decimal digits, since SQL has no such numbers.
std::string DigitsOf(uint64_t number);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_VIRTUAL_TABLE_H_
