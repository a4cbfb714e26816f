// SPDX-License-Identifier: Apache-2.0
//
// A LiveFrame as a screen of text.
#ifndef LIBTRACE_VIEW_TEXT_LIVE_H_
#define LIBTRACE_VIEW_TEXT_LIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/view/live.h"
#include "libtrace/view/table.h"

namespace acceltrace::view {

struct LiveStyle {
  Style style;        // colours and columns
  size_t height = 0;  // lines, 0: as many as there are
  bool ascii = false;
};

// Lines of at most style.width columns, without their ends. Nothing of the stream's text but
// letters, digits and marks that take one column each gets through.
std::vector<std::string> TextLive(const LiveFrame& frame, const LiveStyle& style);

// A name of a stream as a terminal may show it: at most `width` columns, of which a longer name
// loses the middle.
std::string TerminalName(std::string_view name, size_t width, bool ascii);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_LIVE_H_
