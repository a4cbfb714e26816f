// SPDX-License-Identifier: Apache-2.0
//
// A page that compares two runs: a timeline of each, aligned, and a list of differences with links
// to their places in both. The page is page/compare.html; each timeline is the page of its trace in
// a frame.
#ifndef LIBTRACE_VIEW_HTML_COMPARE_H_
#define LIBTRACE_VIEW_HTML_COMPARE_H_

#include <string>

#include "libtrace/analysis/report/diff.h"
#include "libtrace/view/html/html.h"

namespace acceltrace::view {

struct ComparedSide {
  std::string name;  // of the file
  const analysis::Report* report = nullptr;
};

// Writes a page that includes both pages; max_bytes applies to the whole.
Result<HtmlStats> ExportComparison(const analysis::Diff& diff, const ComparedSide& a,
                                   const ComparedSide& b, const Sink& sink,
                                   const HtmlOptions& options = {});
// Returns a page whose frames are served below a/ and b/.
std::string ServedComparison(const analysis::Diff& diff, const ComparedSide& a,
                             const ComparedSide& b);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_COMPARE_H_
