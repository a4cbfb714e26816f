// SPDX-License-Identifier: Apache-2.0
//
// Selects the events that a page includes. Internal.
//
// If not all of them fit, these are included for each track: the longest event of each of up to
// 4096 intervals of the recording, and of the run within it; those that are longer than such an
// interval; and the longest of each group of neighbours. Losses have priority; jobs include their
// calls and their first and last commands. The page also has how much of each interval all events
// of a track took.
#ifndef LIBTRACE_VIEW_HTML_PAGE_SELECT_H_
#define LIBTRACE_VIEW_HTML_PAGE_SELECT_H_

#include <cstdint>
#include <string>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/view/html/page_tables.h"

namespace acceltrace::view {

struct PageSelection {
  PageRows rows;
  bool thinned = false;
  // {"TRACK": [{"from", "to", "shares"}, ...]} for those tracks with omitted events that have the
  // most events.
  std::string coverage = "{}";
};

// max_bytes is the approximate limit for the tables.
PageSelection SelectRows(const analysis::Report& report, const analysis::TracerWork& work,
                         const PagePath& path, int64_t base_ns, uint64_t max_bytes);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_SELECT_H_
