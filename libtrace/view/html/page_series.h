// SPDX-License-Identifier: Apache-2.0
//
// Series over the whole run for a page's charts: sums over all rows of the model, whether or not
// the page includes them. Internal.
#ifndef LIBTRACE_VIEW_HTML_PAGE_SERIES_H_
#define LIBTRACE_VIEW_HTML_PAGE_SERIES_H_

#include <string>

#include "libtrace/analysis/report/report.h"

namespace acceltrace::view {

// Returns {"begin", "end", "bins", "units", "latency", "counters"}. `units` has for each unit what
// it did in each bin, in 250ths, and the bytes of its transfers.
std::string PageSeriesJson(const analysis::Report& report, int64_t base_ns);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_SERIES_H_
