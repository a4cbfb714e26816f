// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/table.h"

#include <algorithm>
#include <cassert>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"

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
  remarks_.emplace_back();
}

void Table::Remark(std::string_view text) {
  assert(!rows_.empty());
  remarks_.back() = Printable(text);
}

namespace {

// Returns the bytes of the character at `at`.
size_t CharacterAt(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  return end - at;
}

// Returns how much of a text fits in a line of a cell.
size_t LineBytes(std::string_view text, size_t width) {
  const auto is_digit = [&](size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  size_t end = 0, space = 0, part = 0, joint = 0;  // part: of a path or a dotted name
  while (end < text.size()) {
    const size_t next = end + CharacterAt(text, end);
    if (DisplayWidth(text.substr(0, next)) > width && end > 0) break;
    if (text[end] == ' ') space = end;
    const bool in_number = end > 0 && is_digit(end - 1) && is_digit(next);
    if (std::string_view("/.:,;").find(text[end]) != std::string_view::npos && !in_number) {
      part = next;
    }
    if (text[end] == '_' || (text[end] == '-' && !in_number)) joint = next;
    end = next;
  }
  if (end == text.size() || text[end] == ' ') return end;
  return space > 0 ? space : part > end / 3 ? part : joint > end / 2 ? joint : end;
}

size_t LineOf(const std::vector<size_t>& widths) {
  size_t line = 0;
  for (size_t width : widths) line += width > 0 ? width + 2 : 0;
  return line;
}

}  // namespace

std::vector<std::string> CellLines(std::string_view text, size_t width) {
  constexpr size_t kMostLines = 24;
  width = std::max<size_t>(width, 1);
  const std::string bounded = ShortenedInside(text, kMostLines * width);
  std::vector<std::string> lines;
  for (std::string_view left = bounded; !left.empty();) {
    const size_t bytes = LineBytes(left, width);
    std::string_view line = left.substr(0, bytes);
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    lines.emplace_back(line);
    left.remove_prefix(bytes);
    left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::vector<size_t> Table::Widths(const Style& style, std::vector<size_t>* dropped) const {
  std::vector<size_t> widths(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    if (widths[c] > 0) widths[c] = std::max(widths[c], DisplayWidth(columns_[c].title));
  }
  const auto room = static_cast<size_t>(std::max(style.width, 40));
  const auto shrink = [&](size_t least) {
    for (size_t c = 0; c < columns_.size() && LineOf(widths) > room; ++c) {
      if (!columns_[c].elastic || widths[c] <= least) continue;
      widths[c] -= std::min(LineOf(widths) - room, widths[c] - least);
    }
  };
  constexpr size_t kReadable = 18, kLeast = 8;
  shrink(kReadable);
  while (LineOf(widths) > room) {
    size_t next = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].drop == 0 || widths[c] == 0) continue;
      if (next == columns_.size() || columns_[c].drop >= columns_[next].drop) next = c;
    }
    if (next == columns_.size()) break;
    widths[next] = 0;
    dropped->push_back(next);
  }
  shrink(kLeast);
  return widths;
}

std::string Table::Render(const Style& style) const {
  std::vector<size_t> dropped;
  const std::vector<size_t> widths = Widths(style, &dropped);
  std::vector<std::vector<std::string>> cells(columns_.size());
  const auto render = [&](const auto& cell_of, Ink ink) {
    size_t most = 1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      cells[c] = CellLines(cell_of(c), widths[c]);
      most = std::max(most, cells[c].size());
    }
    std::string lines;
    for (size_t n = 0; n < most; ++n) {
      std::string text;
      for (size_t c = 0; c < columns_.size(); ++c) {
        if (widths[c] == 0) continue;
        const std::string cell = n < cells[c].size() ? cells[c][n] : "";
        const size_t width = DisplayWidth(cell);
        const std::string pad(widths[c] > width ? widths[c] - width : 0, ' ');
        text += "  ";
        text += columns_[c].align == Align::kLeft ? cell + pad : pad + cell;
      }
      text.erase(text.find_last_not_of(' ') + 1);
      lines += Paint(style, ink, text) + "\n";
    }
    return lines;
  };
  std::string out;
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& column) { return !column.title.empty(); });
  if (titled) out += render([&](size_t c) { return columns_[c].title; }, Ink::kDim);
  for (size_t r = 0; r < rows_.size(); ++r) {
    out += render([&](size_t c) { return rows_[r][c]; }, Ink::kPlain);
    if (!remarks_[r].empty()) out += Paint(style, Ink::kDim, Wrapped(style, remarks_[r], 6));
  }
  std::sort(dropped.begin(), dropped.end());
  std::string names;
  for (size_t c : dropped) {
    if (columns_[c].title.empty()) continue;
    names += (names.empty() ? "" : ", ") + columns_[c].title;
  }
  if (!names.empty()) out += Paint(style, Ink::kDim, "  wider: " + names) + "\n";
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

namespace {

// Returns the length of a colour's escape sequence at `at`, or 0.
size_t EscapeAt(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const size_t end = text.find('m', at);
  return end == text.npos ? 0 : end + 1 - at;
}

void BreakLine(std::string_view line, size_t room, std::string* out) {
  size_t indent = std::min(line.find_first_not_of(' '), line.size());
  indent = std::min(indent + 2, room / 2);
  size_t columns = 0, space = 0, begin = 0;
  for (size_t at = 0; at < line.size();) {
    if (const size_t escape = EscapeAt(line, at); escape > 0) {
      at += escape;
      continue;
    }
    if (line[at] == ' ' && columns > indent && (begin > 0 || at > indent)) space = at;
    if (columns >= room && space > begin) {
      const std::string_view part = line.substr(begin, space - begin);
      out->append(part.substr(0, part.find_last_not_of(' ') + 1));
      *out += "\n" + std::string(indent, ' ');
      begin = line.find_first_not_of(' ', space);
      if (begin == line.npos) begin = line.size();
      at = begin, columns = indent, space = begin;
      continue;
    }
    columns += NextWidth(line, &at);
  }
  out->append(line.substr(begin));
}

// Replaces the characters that reports use, with the same width where it matters for tables.
std::string ToAscii(std::string_view text) {
  struct Sign {
    std::string_view utf8;
    const char* ascii;
  };
  static constexpr Sign kSigns[] = {{"±", "~"}, {"µ", "u"}, {"≤", "<"},   {"≥", ">"},
                                    {"…", "~"}, {"·", "."}, {"∞", "inf"}, {"█", "#"},
                                    {"▉", "#"}, {"▊", "#"}, {"▋", "#"},   {"▌", "="},
                                    {"▍", "="}, {"▎", "-"}, {"▏", "-"},   {"▒", "%"}};
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if ((static_cast<unsigned char>(text[at]) & 0x80) == 0) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    std::string ascii(NextWidth(text, &end), '?');
    for (const Sign& sign : kSigns) {
      if (text.substr(at, end - at) == sign.utf8) ascii = sign.ascii;
    }
    out += ascii;
    at = end;
  }
  return out;
}

}  // namespace

std::string Fitted(const Style& style, std::string_view text) {
  const auto room = static_cast<size_t>(std::max(style.width, 40));
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    BreakLine(text.substr(at, end - at), room, &out);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return style.ascii ? ToAscii(out) : out;
}

}  // namespace acceltrace::view
