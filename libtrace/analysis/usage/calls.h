// SPDX-License-Identifier: Apache-2.0
//
// Which API calls took the threads' time?
#ifndef LIBTRACE_ANALYSIS_USAGE_CALLS_H_
#define LIBTRACE_ANALYSIS_USAGE_CALLS_H_

#include <string>
#include <vector>

#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

struct CallUse {
  std::string name;
  uint64_t failed = 0, open = 0, bytes = 0, jobs = 0;
  Stats time;  // of calls whose end was recorded; exact, as these are host times
};

// Sorted by total time, the longest first.
std::vector<CallUse> ComputeCalls(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_CALLS_H_
