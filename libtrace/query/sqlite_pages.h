// SPDX-License-Identifier: Apache-2.0
//
// Fills tables of an SQLite file, page by page. Internal.
//
// SQLite makes the file and its empty tables; an INSERT then costs it a few hundred ns a row. Rows
// that come in the order of their numbers need none of that: pages of leaves are written one after
// the other, and those above them when they are known. The format is that of
// https://www.sqlite.org/fileformat2.html, for tables with row numbers and without indices.
#ifndef LIBTRACE_QUERY_SQLITE_PAGES_H_
#define LIBTRACE_QUERY_SQLITE_PAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/query/tables.h"
#include "libtrace/stream/result.h"

namespace acceltrace::query {

// The pages behind those that a file has.
class SqlitePages {
 public:
  static constexpr uint32_t kPageBytes = 4096;

  // fd: of a file of `pages` pages, which stays open. Errors are those of the system.
  SqlitePages(int fd, uint32_t pages) : fd_(fd), pages_(pages) {}

  // Takes the next page; its number.
  uint32_t Append(std::string_view page);
  void WriteAt(uint32_t number, std::string_view page);
  // Writes what is left, and how large the file is. 0, or an error of the system.
  int Finish();
  int error() const { return error_; }

 private:
  void Flush();
  void Write(std::string_view bytes, uint64_t at);

  int fd_;
  int error_ = 0;
  uint32_t pages_, written_ = 0;  // written_: pages in buffer_
  std::string buffer_;
};

// One table, row by row; they get the numbers 1, 2, 3, ...
class SqliteRows {
 public:
  // root: the page of the empty table.
  SqliteRows(SqlitePages* pages, uint32_t root) : pages_(pages), root_(root) {}

  // types: of the columns.
  void Add(std::span<const ColumnCells> columns, size_t rows,
           std::span<const PlainTable::Type> types);
  void Finish();

 private:
  struct Child {
    uint32_t page;
    uint64_t last;  // row
  };

  void StartPage();
  void EndPage();
  // Cells of a column as they are written, of a few rows: most cost no more than copying then.
  struct Encoded {
    bool mixed = false;  // the types of rows differ; else:
    uint8_t type = 0;    // of all rows
    bool one = false;    // they have one value, the first of bodies
    std::array<uint8_t, kRowsAtOnce> types;
    std::array<uint64_t, kRowsAtOnce> bodies;  // as they lie in memory
  };
  // What a row does about a column; nothing where all rows have a type without a value.
  struct Step {
    const uint64_t* bodies;
    const uint8_t* types;
    size_t rows;  // 0: all have the first one's body; else SIZE_MAX
    uint32_t column;
    enum class Kind : uint8_t { kFixed, kMixed, kCell } kind;
    uint8_t bytes;  // kFixed: of a value
  };
  // A record in record_, as far as it is written.
  struct Record {
    size_t wider = 0;  // bytes that types take beyond one each
    size_t end = 0;    // of its values
  };

  // False: some are long, or of other kinds.
  static bool Encode(const ColumnCells& cells, size_t rows, PlainTable::Type type, Encoded* out);
  static bool EncodeTexts(const ColumnCells& cells, size_t rows, Encoded* out);
  static bool EncodeNumbers(std::span<const uint64_t> numbers, bool is_signed, Encoded* out);
  // Encodes what can be; what is left to do for each row.
  void Plan(std::span<const ColumnCells> columns, size_t rows,
            std::span<const PlainTable::Type> types);
  void PutCell(const Cell& cell, PlainTable::Type type, uint32_t column, Record* record);
  void PutText(std::string_view text, uint32_t column, Record* record);
  void AddRecord(const Record& record);
  // Of the next cell.
  char* RoomOnPage(size_t size);
  // Puts what does not fit into pages of its own; the first one's number.
  uint32_t Overflow(std::string_view rest);
  std::string Interior(std::span<const Child> children) const;

  SqlitePages* pages_;
  uint32_t root_;
  uint64_t row_ = 0;
  std::string page_;    // of leaves, as far as it is filled
  size_t content_ = 0;  // where its cells begin
  uint32_t num_cells_ = 0;
  std::vector<Child> leaves_;
  size_t columns_ = 0;
  std::vector<Encoded> encoded_;  // by column
  std::string types_;             // of a row, where all rows have the same
  std::vector<Step> steps_;
  std::string record_;  // of a row, which takes no memory anew
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQLITE_PAGES_H_
