// SPDX-License-Identifier: Apache-2.0
//
// Formats what changed from one trace to another, for people and programs.
#ifndef LIBTRACE_VIEW_JSON_DIFF_H_
#define LIBTRACE_VIEW_JSON_DIFF_H_

#include <string>

#include "libtrace/analysis/report/diff.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

std::string TextDiff(const analysis::Diff& diff, const Style& style);
std::string JsonDiff(const analysis::Diff& diff);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_DIFF_H_
