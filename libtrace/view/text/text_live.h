// SPDX-License-Identifier: Apache-2.0
//
// Formats a LiveFrame as a screen of text.
#ifndef LIBTRACE_VIEW_TEXT_TEXT_LIVE_H_
#define LIBTRACE_VIEW_TEXT_TEXT_LIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/view/common/table.h"
#include "libtrace/view/text/live.h"

namespace acceltrace::view {

struct LiveStyle {
  Style style;        // colours and columns
  size_t height = 0;  // number of lines; 0 = no limit
  bool ascii = false;
};

// Returns lines of at most style.width columns, without line ends. Text of the stream is reduced to
// letters, digits and marks that take one column each.
std::vector<std::string> TextLive(const LiveFrame& frame, const LiveStyle& style);

// Returns a name of a stream in a form that is safe for a terminal, with at most `width` columns;
// longer names lose their middle.
std::string TerminalName(std::string_view name, size_t width, bool ascii);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_TEXT_LIVE_H_
