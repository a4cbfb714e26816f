// SPDX-License-Identifier: Apache-2.0
//
// Aligned tables and headings for a terminal.
#ifndef LIBTRACE_VIEW_TABLE_H_
#define LIBTRACE_VIEW_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::view {

struct Style {
  bool colour = false;
  int width = 100;  // columns of the terminal, or of the page when piped
  size_t rows = 0;  // of a table, 0: as many as it has by itself
};

enum class Ink { kPlain, kBold, kDim, kGood, kBad, kAccent };
// The text in a colour, or as it is.
std::string Paint(const Style& style, Ink ink, std::string_view text);

// "TITLE  remark" on a line of its own, with an empty line before it.
std::string Heading(const Style& style, std::string_view title, std::string_view remark = "");

// Columns as wide as their widest cell, two spaces apart, indented by two. The
// first column that is marked elastic shrinks when the line would be too long.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    bool elastic = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Columns in which no row has anything are left out.
  std::string Render(const Style& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks words into lines of at most style.width, each indented.
std::string Wrapped(const Style& style, std::string_view text, size_t indent);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TABLE_H_
