// SPDX-License-Identifier: Apache-2.0
//
// The parts of a page that are the same whatever is shown of its timeline. Internal.
#ifndef LIBTRACE_VIEW_PAGE_HEAD_H_
#define LIBTRACE_VIEW_PAGE_HEAD_H_

#include <string>
#include <string_view>

#include "libtrace/analysis/report.h"
#include "libtrace/view/page_path.h"

namespace acceltrace::view {

// What stands before and after the page's data.
std::string_view PageBegin();
std::string_view PageEnd();

// Likewise of a page that shows two.
std::string_view BothBegin();
std::string_view BothEnd();

// JSON as it may stand in HTML: no character that could end the element.
std::string Inert(std::string_view json);

// The data's beginning, `{"version":1,...,`: what the overview, the charts and the tables show.
std::string PageHead(const analysis::Report& report, const PagePath& path);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_HEAD_H_
