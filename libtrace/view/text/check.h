// SPDX-License-Identifier: Apache-2.0
//
// Formats the outcomes of rules for people, programs and CI servers.
#ifndef LIBTRACE_VIEW_TEXT_CHECK_H_
#define LIBTRACE_VIEW_TEXT_CHECK_H_

#include <string>
#include <vector>

#include "libtrace/check/evaluate.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

// Returns whether an outcome counts as passed. If lenient, an undecided rule passes if it likely
// holds.
bool Passed(const check::Outcome& outcome, bool lenient);
// Returns a text such as "81.2 ±0.4 µs", or the reason if there is no value.
std::string FormatValue(const check::Value& value, bool share = false);
// Returns a text such as "p99(job.latency) < 80us: is 91.20 µs".
std::string OutcomeText(const check::Outcome& outcome);

std::string TextCheck(const std::vector<check::Outcome>& outcomes, bool lenient,
                      const Style& style);
std::string JsonCheck(const std::vector<check::Outcome>& outcomes, bool lenient);
// Returns JUnit's XML format, which Jenkins and GitLab read. `file` is the name of the trace,
// `rules` that of the rules.
std::string JunitCheck(const std::vector<check::Outcome>& outcomes, bool lenient,
                       const std::string& file, const std::string& rules);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_CHECK_H_
