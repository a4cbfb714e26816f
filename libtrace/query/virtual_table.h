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

// What a query may still use up; a step is an instruction of SQLite, or a row that was looked at.
struct Budget {
  uint64_t steps = UINT64_MAX;
  // After each kStepsBetween steps, in_time() is called to check the time.
  static constexpr uint64_t kStepsBetween = 1 << 16;
  std::function<bool()> in_time;
  uint64_t since = 0;
  bool late = false;
  // A table declares its columns to SQLite by an SQL statement that queries must not contain.
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

// How a statement that was run searched a table's columns.
struct Searches {
  std::vector<size_t> columns;  // the columns to observe
  int cursors = 0, searches = 0;
  int64_t lo = INT64_MIN, hi = INT64_MAX;  // range of their values in all searches
};

// A table, and its state from one search to the next.
struct Source {
  Source(PlainTable plain, Budget* limit) : table(std::move(plain)), index(&table), budget(limit) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  PlainTable table;
  RowIndex index;
  Budget* budget;
  // Set when statements are prepared: whether one of them names it, and a bit for each column that
  // one of them uses. Columns from the 63rd on share a bit.
  bool named = false;
  uint64_t used = 0;
  Searches* noted = nullptr;
  // Reading a column that is not loaded is an error. Empty if all are loaded.
  std::vector<bool> there;
};

// Makes the table available under its name. The source must outlive the connection.
int AddVirtualTable(sqlite3* db, Source* source);

// Returns "device" TEXT, "job", ...: integers have no declared type, so that SQLite never rounds
// those that need all of 64 bits.
std::string ColumnDefinitions(const PlainTable& table);
// Returns a name quoted for SQL.
std::string Quoted(const std::string& name);
// Returns the decimal digits of a number above 2^63 - 1, which SQL cannot represent.
std::string DigitsOf(uint64_t number);

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_VIRTUAL_TABLE_H_
