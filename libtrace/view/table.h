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
  bool ascii = false;  // what is no ASCII is written in it, by Fitted()
  int width = 100;     // columns of the terminal, or of the page when piped
  size_t rows = 0;     // of a table, 0: as many as it has
};

enum class Ink { kPlain, kBold, kDim, kGood, kBad, kAccent };
// The text in a colour, or as it is.
std::string Paint(const Style& style, Ink ink, std::string_view text);

// "TITLE  remark" on a line of its own, with an empty line before it.
std::string Heading(const Style& style, std::string_view title, std::string_view remark = "");

// A cell's text in lines of at most `width` columns, broken at spaces, else where a name has a
// joint, else anywhere: nothing of it is lost, but the middle of one that would take dozens of
// lines.
std::vector<std::string> CellLines(std::string_view text, size_t width);

// Columns as wide as their widest cell, two spaces apart, indented by two. When a line would be too
// long, columns marked elastic shrink, and their cells go on below; then columns go that have a
// `drop`, the largest first, and a line below says which. No cell loses anything.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    bool elastic = false;
    int drop = 0;  // 0: never
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void Add(std::vector<std::string> cells);
  // More about the row that was added last, in lines of its own below it.
  void Remark(std::string_view text);
  bool empty() const { return rows_.empty(); }
  // Columns in which no row has anything are left out.
  std::string Render(const Style& style) const;

 private:
  // Widths of the columns that are shown; 0: not.
  std::vector<size_t> Widths(const Style& style, std::vector<size_t>* dropped) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> remarks_;  // of each row; may be empty
};

// A text for people as it is printed: lines that are too long are broken at a space and indented,
// and the text is ASCII where the style asks for it.
std::string Fitted(const Style& style, std::string_view text);

// Breaks words into lines of at most style.width, each indented.
std::string Wrapped(const Style& style, std::string_view text, size_t indent);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TABLE_H_
