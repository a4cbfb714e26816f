// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_pages.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "libtrace/query/table_builder.h"
#include "tests/catch.h"

namespace acceltrace::query {
namespace {

using Type = PlainTable::Type;

constexpr size_t kRows = 3 * kRowsAtOnce + 5;

// Numbers around each change of how many bytes they take.
uint64_t EdgeAt(size_t row) {
  const uint64_t power = uint64_t{1} << row % 64;
  switch (row / 64 % 4) {
    case 0:
      return power;
    case 1:
      return power - 1;
    case 2:
      return 0 - power;
    default:
      return ~power;
  }
}

// Of rows that are read at once those of one length, or nearly.
int64_t NearAt(size_t row) {
  constexpr int64_t kBases[] = {-40'000, 70'000, -130, 32'700};
  return kBases[row / kRowsAtOnce % std::size(kBases)] + static_cast<int64_t>(row % 9);
}

PlainTable Table(const std::vector<std::string>& texts) {
  const auto text = [&texts](size_t row) -> const std::string& { return texts[row]; };
  TableBuilder table("t", kRows);
  table.Add("signed", Type::kInteger, [](size_t row) { return static_cast<int64_t>(EdgeAt(row)); })
      .Add("unsigned", Type::kInteger, EdgeAt)
      .Add("alike", Type::kInteger, [](size_t row) { return int64_t{row < kRowsAtOnce ? -3 : 1}; })
      .Add("below", Type::kInteger, [](size_t row) { return -1 - static_cast<int64_t>(row % 700); })
      .Add("near", Type::kInteger, NearAt)
      .Add("as near", Type::kInteger, [](size_t row) { return static_cast<uint64_t>(NearAt(row)); })
      .Add("maybe", Type::kInteger,
           [](size_t row) { return row % 3 == 0 ? std::nullopt : std::optional(EdgeAt(row)); })
      .Add("real", Type::kReal, [](size_t row) { return static_cast<int64_t>(row); })
      .Text("text", text)
      .Add("any", Type::kInteger,
           [text](size_t row) -> Cell {
             switch (row % 6) {
               case 0:
                 return {};
               case 1:
                 return static_cast<int64_t>(EdgeAt(row));
               case 2:
                 return EdgeAt(row);
               case 3:
                 return 0.5 * static_cast<double>(row);
               case 4:
                 return std::numeric_limits<double>::quiet_NaN();
               default:
                 return std::string_view(text(row));
             }
           })
      .Text("again", text);
  return table.Done();
}

// As SQLite takes it.
std::string Wanted(const Cell& cell, Type type) {
  if (const auto* text = std::get_if<std::string_view>(&cell)) return "'" + std::string(*text);
  if (const auto* real = std::get_if<double>(&cell)) {
    return *real != *real ? "null" : std::to_string(*real);
  }
  const auto* u = std::get_if<uint64_t>(&cell);
  if (u != nullptr && *u > INT64_MAX) return "'" + std::to_string(*u);
  const auto* i = std::get_if<int64_t>(&cell);
  if (u == nullptr && i == nullptr) return "null";
  const int64_t number = u != nullptr ? static_cast<int64_t>(*u) : *i;
  return type == Type::kReal ? std::to_string(static_cast<double>(number)) : std::to_string(number);
}

std::string Found(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return "null";
    case SQLITE_INTEGER:
      return std::to_string(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return std::to_string(sqlite3_column_double(statement, column));
    default:
      return std::string("'") +
             reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  }
}

}  // namespace

TEST_CASE("SQLite reads each kind of cell as it was") {
  // Short ones, then some that are not, then some on pages of their own.
  std::vector<std::string> texts;
  for (size_t row = 0; row < kRows; ++row) {
    const size_t most = row < kRowsAtOnce ? 9 : row < 2 * kRowsAtOnce ? 14 : 6000;
    texts.emplace_back(row * 7 % most, static_cast<char>('a' + row % 26));
  }
  const PlainTable table = Table(texts);
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/pages_test.sqlite";
  std::remove(path.c_str());
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  // Columns that take what they get.
  std::string columns;
  std::vector<Type> types;
  for (const PlainTable::Column& column : table.columns) {
    columns += (columns.empty() ? "\"" : ", \"") + column.name + "\"";
    types.push_back(column.type);
  }
  const std::string create = "CREATE TABLE t(" + columns + ")";
  REQUIRE(sqlite3_exec(db, create.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  SqlitePages pages(fd, 2);
  SqliteRows rows(&pages, 2);
  EachRows(table, [&](std::span<const ColumnCells> cells, size_t count) {
    rows.Add(cells, count, types);
    return true;
  });
  rows.Finish();
  REQUIRE(pages.Finish() == 0);
  close(fd);
  REQUIRE(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(db, "SELECT * FROM t ORDER BY rowid", -1, &statement, nullptr) ==
          SQLITE_OK);
  for (size_t row = 0; row < kRows; ++row) {
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    for (size_t c = 0; c < table.columns.size(); ++c) {
      INFO(table.columns[c].name << " of " << row);
      CHECK(Found(statement, static_cast<int>(c)) ==
            Wanted(table.columns[c].cell(row), table.columns[c].type));
    }
  }
  CHECK(sqlite3_step(statement) == SQLITE_DONE);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  std::remove(path.c_str());
}

}  // namespace acceltrace::query
