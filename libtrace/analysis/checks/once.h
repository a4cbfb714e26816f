// SPDX-License-Identifier: Apache-2.0
//
// Does any event occur twice in the trace? Internal.
#ifndef LIBTRACE_ANALYSIS_CHECKS_ONCE_H_
#define LIBTRACE_ANALYSIS_CHECKS_ONCE_H_

#include "libtrace/analysis/checks/conservation.h"

namespace acceltrace::analysis {

// Finds rows that are equal in every column. Commands and jobs have sequence numbers instead, whose
// duplicates are counted while loading (model::LoadStats).
Law OnceLaw(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_ONCE_H_
