// SPDX-License-Identifier: Apache-2.0
//
// Shows a run as a single page: a file that any browser opens without a network.
//
// The page is page/page.html with its style and its script. The data of the trace is included as
// JSON, which page/data.js reads, so that nothing in a trace can become markup.
#ifndef LIBTRACE_VIEW_HTML_HTML_H_
#define LIBTRACE_VIEW_HTML_HTML_H_

#include <cstdint>
#include <string>

#include "libtrace/analysis/report/report.h"
#include "libtrace/base/result.h"
#include "libtrace/view/common/export.h"

namespace acceltrace::view {

struct HtmlOptions {
  // If a trace would need more, individual events are omitted where many are close to each other:
  // see page_select.h.
  uint64_t max_bytes = 15'000'000;
};

struct HtmlStats {
  uint64_t bytes = 0;
  bool thinned = false;  // not all events are included
};

// The data of a page: `head`, `before` and `tables`, concatenated, are JSON.
struct PageData {
  std::string head, before, tables;
  bool thinned = false;
};
// Takes about max_bytes.
PageData MakePageData(const analysis::Report& report, uint64_t max_bytes);

Result<HtmlStats> ExportHtml(const analysis::Report& report, const Sink& sink,
                             const HtmlOptions& options = {});

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_HTML_H_
