// SPDX-License-Identifier: Apache-2.0
//
// The report of a trace that is too long to be read as a whole (analysis/stretches.h).
#ifndef LIBTRACE_VIEW_STRETCHES_H_
#define LIBTRACE_VIEW_STRETCHES_H_

#include <string>

#include "libtrace/analysis/stretches.h"
#include "libtrace/analysis/summary.h"
#include "libtrace/view/table.h"

namespace acceltrace::view {

// summary: of the whole trace, by its index.
std::string TextStretches(const analysis::Stretches& stretches, const analysis::Summary& summary,
                          const Style& style);
// docs/json.md, acceltrace.stretches.
std::string JsonStretches(const analysis::Stretches& stretches, const analysis::Summary& summary);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_STRETCHES_H_
