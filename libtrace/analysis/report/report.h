// SPDX-License-Identifier: Apache-2.0
//
// All analyses at once, for the views.
#ifndef LIBTRACE_ANALYSIS_REPORT_REPORT_H_
#define LIBTRACE_ANALYSIS_REPORT_REPORT_H_

#include <vector>

#include "libtrace/analysis/checks/evidence.h"
#include "libtrace/analysis/checks/findings.h"
#include "libtrace/analysis/report/advice.h"
#include "libtrace/analysis/report/limiter.h"
#include "libtrace/analysis/report/part_limits.h"
#include "libtrace/analysis/report/verdict.h"
#include "libtrace/analysis/usage/call_sites.h"
#include "libtrace/analysis/usage/calls.h"
#include "libtrace/analysis/usage/latency.h"
#include "libtrace/analysis/usage/memory.h"
#include "libtrace/analysis/usage/ops.h"
#include "libtrace/analysis/usage/phases.h"
#include "libtrace/analysis/usage/ranges.h"
#include "libtrace/analysis/usage/roofline.h"
#include "libtrace/analysis/usage/slow_ranges.h"
#include "libtrace/analysis/usage/system.h"
#include "libtrace/analysis/usage/transfers.h"
#include "libtrace/analysis/usage/utilisation.h"
#include "libtrace/analysis/whatif/overhead.h"

namespace acceltrace::analysis {

struct Report : Evidence {
  std::vector<DeviceUse> utilisation;
  Latency latency;
  SystemUse system;
  std::vector<DeviceTransfers> transfers;
  std::vector<DeviceMemory> memory;
  std::vector<CallUse> calls;
  CallSites call_sites;                        // if the trace has stacks
  std::vector<OpUse> ops, op_groups;           // by name, and with running numbers folded
  std::vector<RangeUse> ranges, range_groups;  // likewise
  std::vector<SlowRanges> slow_ranges;
  Phases phases;                         // found from the jobs
  std::vector<DeviceRoofline> roofline;  // with the device's own figures, see UseCeilings()
  Overhead overhead;
  Verdict verdict;
  PartLimits part_limits;  // empty if `limiter` is
  Limiter limiter;
  std::vector<Advice> advice;  // sorted by gain
};

// `laws` are those of the whole trace if the model is a part of it (model/part/select.h); otherwise
// they are computed. Without predictions, which take most of the time, `limiter` and `advice` stay
// empty.
enum class Predictions { kAll, kNone };
Report ComputeReport(const model::Model& model, const std::vector<Law>* laws = nullptr,
                     Predictions predictions = Predictions::kAll);
// The following functions compute only parts of a report, for views that need no more. The other
// parts stay empty.
//
// This one computes what FindProblems() examines, and the counts.
Report ComputeChecks(const model::Model& model, const std::vector<Law>* laws = nullptr);
// Does the same, but without the widths of clock bounds. A model loaded with
// LoadOptions::checks_only is sufficient.
Report ComputeVerification(const model::Model& model);
// Computes what ComputeChecks() does, the breakdown, the overhead and the verdict.
Report ComputeJudgement(const model::Model& model, const std::vector<Law>* laws = nullptr);
// Computes these and the advice, for view::TextAnswer().
Report ComputeAnswer(const model::Model& model, const std::vector<Law>* laws = nullptr);
// Computes these and the run's limiter.
Report ComputeLimits(const model::Model& model, const std::vector<Law>* laws = nullptr);
// Computes the roofline again with measured ceilings.
void UseCeilings(const std::vector<MeasuredCeilings>& measured, Report* report);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_REPORT_H_
