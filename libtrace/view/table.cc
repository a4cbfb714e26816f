// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/table.h"

#include <algorithm>
#include <cassert>

#include "libtrace/view/format.h"

namespace acceltrace::view {

std::string Paint(const Style& style, Ink ink, std::string_view text) {
  if (!style.colour || ink == Ink::kPlain || text.empty()) return std::string(text);
  const char* code = "";
  switch (ink) {
    case Ink::kBold:
      code = "\033[1m";
      break;
    case Ink::kDim:
      code = "\033[2m";
      break;
    case Ink::kGood:
      code = "\033[32m";
      break;
    case Ink::kBad:
      code = "\033[31;1m";
      break;
    case Ink::kAccent:
      code = "\033[36m";
      break;
    case Ink::kPlain:
      break;
  }
  return std::string(code) + std::string(text) + "\033[0m";
}

std::string Heading(const Style& style, std::string_view title, std::string_view remark) {
  std::string line = "\n" + Paint(style, Ink::kBold, title);
  if (!remark.empty()) line += "  " + Paint(style, Ink::kDim, remark);
  return line + "\n";
}

void Table::Add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Render(const Style& style) const {
  std::vector<size_t> widths(columns_.size());
  size_t line = 0;
  std::vector<bool> shown(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
      shown[c] = shown[c] || !row[c].empty();
    }
    if (!shown[c]) continue;
    widths[c] = std::max(widths[c], DisplayWidth(columns_[c].title));
    line += widths[c] + 2;
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].elastic || !shown[c]) continue;
    const size_t room = static_cast<size_t>(std::max(style.width, 40));
    constexpr size_t kLeast = 8;
    if (line > room)
      widths[c] -= std::min(line - room, widths[c] > kLeast ? widths[c] - kLeast : 0);
    break;
  }
  const auto render = [&](const auto& cell_of, Ink ink) {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!shown[c]) continue;
      const std::string cell = Shortened(cell_of(c), widths[c]);
      const std::string pad(widths[c] - DisplayWidth(cell), ' ');
      text += "  ";
      text += columns_[c].align == Align::kLeft ? cell + pad : pad + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return Paint(style, ink, text) + "\n";
  };
  std::string out;
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& column) { return !column.title.empty(); });
  if (titled) out += render([&](size_t c) { return columns_[c].title; }, Ink::kDim);
  for (const auto& row : rows_) out += render([&](size_t c) { return row[c]; }, Ink::kPlain);
  return out;
}

std::string Wrapped(const Style& style, std::string_view text, size_t indent) {
  const size_t room = static_cast<size_t>(std::max(style.width, 40));
  std::string out;
  std::string line(indent, ' ');
  bool fresh = true;
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, space - at);
    if (!fresh && DisplayWidth(line) + 1 + DisplayWidth(word) > room) {
      out += line + "\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
    at = space + 1;
  }
  return out + line + "\n";
}

}  // namespace acceltrace::view
