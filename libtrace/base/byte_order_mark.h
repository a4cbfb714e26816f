// SPDX-License-Identifier: Apache-2.0
//
// The mark that some editors put before a text.
#ifndef LIBTRACE_BASE_BYTE_ORDER_MARK_H_
#define LIBTRACE_BASE_BYTE_ORDER_MARK_H_

#include <string_view>

namespace acceltrace {

// Returns the text after a UTF-8 byte order mark, if it begins with one.
inline std::string_view WithoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(text.substr(0, kMark.size()) == kMark ? kMark.size() : 0);
}

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_BYTE_ORDER_MARK_H_
