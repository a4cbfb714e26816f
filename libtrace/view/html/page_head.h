// SPDX-License-Identifier: Apache-2.0
//
// The parts of a page that do not depend on what its timeline shows. Internal.
#ifndef LIBTRACE_VIEW_HTML_PAGE_HEAD_H_
#define LIBTRACE_VIEW_HTML_PAGE_HEAD_H_

#include <string>
#include <string_view>

#include "libtrace/analysis/report/report.h"
#include "libtrace/view/html/page_path.h"

namespace acceltrace::view {

// The markup before and after the page's data.
std::string_view PageBegin();
std::string_view PageEnd();

// The same for a page that shows two traces.
std::string_view BothBegin();
std::string_view BothEnd();

// Makes JSON safe to include in HTML: no character can end the element.
std::string Inert(std::string_view json);

// Returns the beginning of the data, `{"version":1,...,`, which the overview, the charts and the
// tables show.
std::string PageHead(const analysis::Report& report, const PagePath& path);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_HEAD_H_
