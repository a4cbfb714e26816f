// SPDX-License-Identifier: Apache-2.0
//
// Describes the contents of a trace on half a page.
#ifndef LIBTRACE_VIEW_TEXT_SUMMARY_H_
#define LIBTRACE_VIEW_TEXT_SUMMARY_H_

#include <string>

#include "libtrace/analysis/report/summary.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

std::string TextSummary(const analysis::Summary& summary, const Style& style);
std::string JsonSummary(const analysis::Summary& summary);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_SUMMARY_H_
