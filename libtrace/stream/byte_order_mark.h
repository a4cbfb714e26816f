// SPDX-License-Identifier: Apache-2.0
//
// What editors of some systems put before a text.
#ifndef LIBTRACE_STREAM_BYTE_ORDER_MARK_H_
#define LIBTRACE_STREAM_BYTE_ORDER_MARK_H_

#include <string_view>

namespace acceltrace::stream {

// The text behind a byte order mark of UTF-8, if it begins with one.
inline std::string_view WithoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(text.substr(0, kMark.size()) == kMark ? kMark.size() : 0);
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTE_ORDER_MARK_H_
