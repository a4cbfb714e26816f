// SPDX-License-Identifier: Apache-2.0
//
// Which events a page holds one by one. Internal.
//
// All of them, if they fit. Else of each track the longest event of each of up to 4096 stretches
// of the recording, and of the run within it; those that are longer than such a stretch; and the
// longest of each so many neighbours. Losses come first; jobs bring along their calls, and their
// first and last commands. How much of each stretch all events of a track took is there besides.
#ifndef LIBTRACE_VIEW_PAGE_SELECT_H_
#define LIBTRACE_VIEW_PAGE_SELECT_H_

#include <cstdint>
#include <string>

#include "libtrace/analysis/report.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/page_tables.h"

namespace acceltrace::view {

struct PageSelection {
  PageRows rows;
  bool thinned = false;
  // {"TRACK": [{"from", "to", "shares"}, ...]}: of the tracks whose events were thinned, the
  // ones with most events.
  std::string coverage = "{}";
};

// max_bytes: about as much as the tables may take.
PageSelection SelectRows(const analysis::Report& report, const analysis::TracerWork& work,
                         const PagePath& path, int64_t base_ns, uint64_t max_bytes);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_SELECT_H_
