// SPDX-License-Identifier: Apache-2.0
//
// Formats reports for programs; docs/json.md describes them.
#ifndef LIBTRACE_VIEW_JSON_JSON_H_
#define LIBTRACE_VIEW_JSON_JSON_H_

#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"

namespace acceltrace::view {

// Incremented when a name is removed or changes its meaning, but not for new names.
inline constexpr int kJsonVersion = 1;

std::string JsonReport(const analysis::Report& report);
std::string JsonVerify(const analysis::Report& report,
                       const std::vector<analysis::Finding>& findings);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_JSON_H_
