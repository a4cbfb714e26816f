// SPDX-License-Identifier: Apache-2.0
//
// Computes the width of text on a terminal.
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {
namespace {

// For characters that the C library does not know: East Asian scripts and pictographs are wide.
size_t UsualColumns(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kWide[] = {
      {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
      {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
      {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
  return std::any_of(
             std::begin(kWide), std::end(kWide),
             [code](const auto& range) { return code >= range.first && code <= range.second; })
             ? 2
             : 1;
}

// Asks the C library in a UTF-8 locale, whatever the program's locale is.
size_t ColumnsOf(char32_t code) {
  constexpr char32_t kFirstOther = 0x300;  // all characters below take one column
  if (code < kFirstOther) return 1;
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return UsualColumns(code);
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return columns < 0 ? UsualColumns(code) : static_cast<size_t>(columns);
}

// Returns where the text continues after at most `columns` columns and any combining characters.
size_t After(std::string_view text, size_t columns) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    const size_t width = NextWidth(text, &next);
    if (width > columns) break;
    columns -= width, at = next;
  }
  return at;
}

}  // namespace

size_t NextWidth(std::string_view text, size_t* at) {
  const char32_t code = NextCharacter(text, at);
  return code == kNoCharacter ? 1 : ColumnsOf(code);
}

size_t DisplayWidth(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) columns += NextWidth(text, &at);
  return columns;
}

std::string Shortened(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  return std::string(text.substr(0, After(text, std::max<size_t>(width, 1) - 1))) + "…";
}

std::string ShortenedInside(std::string_view text, size_t width) {
  const size_t columns = DisplayWidth(text);
  if (columns <= width || width < 3) return Shortened(text, width);
  const size_t behind = (width - 1) / 2;
  size_t at = 0, left = columns;
  while (left > behind) left -= NextWidth(text, &at);
  // A combining character is removed with the one before it.
  for (size_t next = at; next < text.size() && NextWidth(text, &next) == 0;) at = next;
  return Shortened(text, width - behind) + std::string(text.substr(at));
}

}  // namespace acceltrace::view
