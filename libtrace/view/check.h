// SPDX-License-Identifier: Apache-2.0
//
// What became of rules: for people, for machines, for CI servers.
#ifndef LIBTRACE_VIEW_CHECK_H_
#define LIBTRACE_VIEW_CHECK_H_

#include <string>
#include <vector>

#include "libtrace/check/evaluate.h"
#include "libtrace/view/table.h"

namespace acceltrace::view {

// Whether it counts as passed. lenient: what cannot be decided passes if it is likely.
bool Passed(const check::Outcome& outcome, bool lenient);
// "81.2 ±0.4 µs"; what it lacks where there is no value.
std::string FormatValue(const check::Value& value, bool share = false);
// "p99(job.latency) < 80us: is 91.20 µs"
std::string OutcomeText(const check::Outcome& outcome);

std::string TextCheck(const std::vector<check::Outcome>& outcomes, bool lenient,
                      const Style& style);
std::string JsonCheck(const std::vector<check::Outcome>& outcomes, bool lenient);
// JUnit's XML, as Jenkins and GitLab read it. file: of the trace; rules: of the rules.
std::string JunitCheck(const std::vector<check::Outcome>& outcomes, bool lenient,
                       const std::string& file, const std::string& rules);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_CHECK_H_
