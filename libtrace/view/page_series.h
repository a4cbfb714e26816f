// SPDX-License-Identifier: Apache-2.0
//
// What a page draws over the run as a whole: sums over all rows of the model, however many of
// them the page holds one by one. Internal.
#ifndef LIBTRACE_VIEW_PAGE_SERIES_H_
#define LIBTRACE_VIEW_PAGE_SERIES_H_

#include <string>

#include "libtrace/analysis/report.h"

namespace acceltrace::view {

// {"begin", "end", "bins", "units", "latency", "counters"}; units: for each what it did in each
// bin, in 250ths of it, and the bytes of its transfers.
std::string PageSeriesJson(const analysis::Report& report, int64_t base_ns);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_SERIES_H_
