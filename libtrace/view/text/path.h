// SPDX-License-Identifier: Apache-2.0
//
// Formats the critical path and what-if for people and programs.
#ifndef LIBTRACE_VIEW_TEXT_PATH_H_
#define LIBTRACE_VIEW_TEXT_PATH_H_

#include <string>

#include "libtrace/analysis/report/limiter.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/analysis/whatif/whatif.h"
#include "libtrace/view/common/table.h"

namespace acceltrace::view {

struct WhatIf {
  std::string change;   // as requested; if empty, each resource is evaluated
  std::string refused;  // why there is no answer
  analysis::Prediction prediction;
  analysis::Limiter limiter;  // if no change was requested
};

std::string TextCriticalPath(const analysis::CriticalPath& path, const Style& style);
std::string JsonCriticalPath(const analysis::CriticalPath& path);
std::string TextWhatIf(const WhatIf& whatif, const Style& style);
std::string JsonWhatIf(const WhatIf& whatif);
// A section of the report: which resource limits the run, and what each one would gain.
std::string Gains(const analysis::Limiter& limiter, const Style& style);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_PATH_H_
