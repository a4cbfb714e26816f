// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a trace: the problems that `acceltrace verify` reports.
#ifndef LIBTRACE_ANALYSIS_CHECKS_FINDINGS_H_
#define LIBTRACE_ANALYSIS_CHECKS_FINDINGS_H_

#include <string>
#include <vector>

#include "libtrace/analysis/checks/evidence.h"

namespace acceltrace::analysis {

// A problem of a trace.
struct Finding {
  std::string kind;  // stable: damage, rows, order, law, loss, clock
  std::string text;
};

// Returns what `verify` reports, sorted by kind.
std::vector<Finding> FindProblems(const Evidence& evidence);
// Returns only what shows that rows are missing: damage, rows, loss. Needs nothing but the losses.
std::vector<Finding> FindFaults(const model::Model& model, const Losses& losses);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_FINDINGS_H_
