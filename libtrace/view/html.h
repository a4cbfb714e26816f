// SPDX-License-Identifier: Apache-2.0
//
// A run as one page: a file that any browser opens without a network.
//
// The page is page/page.html with its style and its script; what it shows of the trace stands in
// it as JSON, which page/data.js reads. Nothing of a trace becomes markup.
#ifndef LIBTRACE_VIEW_HTML_H_
#define LIBTRACE_VIEW_HTML_H_

#include <cstdint>
#include <string>

#include "libtrace/analysis/report.h"
#include "libtrace/stream/result.h"
#include "libtrace/view/export.h"

namespace acceltrace::view {

struct HtmlOptions {
  // Of a trace that would need more, single events are left out where many lie close together:
  // see page_select.h.
  uint64_t max_bytes = 15'000'000;
};

struct HtmlStats {
  uint64_t bytes = 0;
  bool thinned = false;  // not every event is there one by one
};

// What a page holds of a trace: `head`, `before` and `tables` one after the other are JSON.
struct PageData {
  std::string head, before, tables;
  bool thinned = false;
};
// So that it takes about max_bytes.
PageData MakePageData(const analysis::Report& report, uint64_t max_bytes);

Result<HtmlStats> ExportHtml(const analysis::Report& report, const Sink& sink,
                             const HtmlOptions& options = {});

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_H_
