// SPDX-License-Identifier: Apache-2.0
//
// Aligned tables and headings for a terminal.
#ifndef LIBTRACE_VIEW_COMMON_TABLE_H_
#define LIBTRACE_VIEW_COMMON_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::view {

struct Style {
  bool colour = false;
  bool ascii = false;  // Fitted() replaces characters that are not ASCII
  int width = 100;     // columns of the terminal, or of a page if piped
  size_t rows = 0;     // of a table; 0 = no limit
};

enum class Ink { kPlain, kBold, kDim, kGood, kBad, kAccent };
// Returns the text in a colour, if the style has colours.
std::string Paint(const Style& style, Ink ink, std::string_view text);

// Returns "TITLE  remark" on its own line, preceded by an empty line.
std::string Heading(const Style& style, std::string_view title, std::string_view remark = "");

// Breaks a cell's text into lines of at most `width` columns: at spaces, otherwise at a joint of a
// name, otherwise anywhere. Nothing is lost, except for the middle of a text that would take dozens
// of lines.
std::vector<std::string> CellLines(std::string_view text, size_t width);

// Columns are as wide as their widest cell, two spaces apart, and indented by two. If a line would
// be too long, columns marked as elastic shrink and their cells continue on further lines. If this
// is not enough, columns with a `drop` are omitted, the largest first, and a line below names them.
// Cells of shown columns are always complete.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    bool elastic = false;
    int drop = 0;  // 0 = never
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // The number of cells must be that of the columns.
  void Add(std::vector<std::string> cells);
  // Adds lines below the last added row.
  void Remark(std::string_view text);
  bool empty() const { return rows_.empty(); }
  // Columns without any text are omitted.
  std::string Render(const Style& style) const;

 private:
  // Returns the widths of the shown columns, 0 for the others.
  std::vector<size_t> Widths(const Style& style, std::vector<size_t>* dropped) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> remarks_;  // for each row; may be empty
};

// Formats a text for printing: long lines are broken at a space and indented, and the text is
// converted to ASCII if the style requires it.
std::string Fitted(const Style& style, std::string_view text);

// Breaks words into lines of at most style.width, each of which is indented.
std::string Wrapped(const Style& style, std::string_view text, size_t indent);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_TABLE_H_
