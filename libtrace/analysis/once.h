// SPDX-License-Identifier: Apache-2.0
//
// Is any event in the trace twice? Internal.
#ifndef LIBTRACE_ANALYSIS_ONCE_H_
#define LIBTRACE_ANALYSIS_ONCE_H_

#include "libtrace/analysis/conservation.h"

namespace acceltrace::analysis {

// Rows that are alike in every column. Commands and jobs have numbers, and are counted
// when they are read (model::LoadStats).
Law OnceLaw(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ONCE_H_
