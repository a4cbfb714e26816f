// SPDX-License-Identifier: Apache-2.0
//
// The report of a trace that is too long to be read as a whole (analysis/report/stretches.h).
#ifndef LIBTRACE_VIEW_TEXT_STRETCHES_H_
#define LIBTRACE_VIEW_TEXT_STRETCHES_H_

#include <string>

#include "libtrace/analysis/report/stretches.h"
#include "libtrace/analysis/report/summary.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

// `summary` is that of the whole trace, from its index.
std::string TextStretches(const analysis::Stretches& stretches, const analysis::Summary& summary,
                          const Style& style);
// The format is acceltrace.stretches in docs/json.md.
std::string JsonStretches(const analysis::Stretches& stretches, const analysis::Summary& summary);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_STRETCHES_H_
