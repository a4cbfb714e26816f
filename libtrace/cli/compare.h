// SPDX-License-Identifier: Apache-2.0
//
// Loads two traces for the verbs that compare them.
#ifndef LIBTRACE_CLI_COMPARE_H_
#define LIBTRACE_CLI_COMPARE_H_

#include <memory>
#include <string>

#include "libtrace/analysis/report/diff.h"
#include "libtrace/analysis/report/report.h"
#include "libtrace/base/result.h"
#include "libtrace/cli/filters.h"

namespace acceltrace::cli {

struct Compared {
  std::string name_a, name_b;  // of the files
  Loaded a, b;
  analysis::Report report_a, report_b;
  analysis::Diff diff;
};

// If there is an error, *status is the exit status.
Result<std::unique_ptr<Compared>> Compare(const std::string& a, const std::string& b,
                                          const Part& selection, analysis::Predictions predictions,
                                          int* status);
// Called after the answer was written. Reports on stderr what is wrong with the comparison, and
// returns the exit status.
int ComparedStatus(const Compared& compared);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_COMPARE_H_
