// SPDX-License-Identifier: Apache-2.0
//
// Two runs as one page: a timeline of each, aligned, and what differs, which leads to its place in
// both. The page is page/compare.html; each timeline is the page of its trace, in a frame.
#ifndef LIBTRACE_VIEW_COMPARE_H_
#define LIBTRACE_VIEW_COMPARE_H_

#include <string>

#include "libtrace/analysis/diff.h"
#include "libtrace/view/html.h"

namespace acceltrace::view {

struct ComparedSide {
  std::string name;  // of the file
  const analysis::Report* report = nullptr;
};

// With the pages in it: max_bytes are of the whole.
Result<HtmlStats> ExportComparison(const analysis::Diff& diff, const ComparedSide& a,
                                   const ComparedSide& b, const Sink& sink,
                                   const HtmlOptions& options = {});
// Of which the pages are served below a/ and b/.
std::string ServedComparison(const analysis::Diff& diff, const ComparedSide& a,
                             const ComparedSide& b);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMPARE_H_
