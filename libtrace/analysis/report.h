// SPDX-License-Identifier: Apache-2.0
//
// All answers at once, for the views.
#ifndef LIBTRACE_ANALYSIS_REPORT_H_
#define LIBTRACE_ANALYSIS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/advice.h"
#include "libtrace/analysis/breakdown.h"
#include "libtrace/analysis/call_sites.h"
#include "libtrace/analysis/calls.h"
#include "libtrace/analysis/causality.h"
#include "libtrace/analysis/clock_quality.h"
#include "libtrace/analysis/conservation.h"
#include "libtrace/analysis/latency.h"
#include "libtrace/analysis/limiter.h"
#include "libtrace/analysis/losses.h"
#include "libtrace/analysis/memory.h"
#include "libtrace/analysis/ops.h"
#include "libtrace/analysis/overhead.h"
#include "libtrace/analysis/part_limits.h"
#include "libtrace/analysis/phases.h"
#include "libtrace/analysis/ranges.h"
#include "libtrace/analysis/roofline.h"
#include "libtrace/analysis/slow_ranges.h"
#include "libtrace/analysis/system.h"
#include "libtrace/analysis/transfers.h"
#include "libtrace/analysis/utilisation.h"
#include "libtrace/analysis/verdict.h"

namespace acceltrace::analysis {

// How much of everything the trace holds.
struct Counts {
  uint64_t api_calls = 0, api_failed = 0, api_open = 0;
  uint64_t ranges = 0, marks = 0, host_events = 0;
  uint64_t jobs = 0, jobs_failed = 0, commands = 0, commands_failed = 0;
  uint64_t counter_samples = 0, clock_samples = 0, device_events = 0;
};
Counts ComputeCounts(const model::Model& model);

struct Report {
  const model::Model* model = nullptr;  // must outlive the report
  Counts counts;
  Breakdown breakdown;
  std::vector<DeviceUse> utilisation;
  Latency latency;
  SystemUse system;
  std::vector<DeviceTransfers> transfers;
  std::vector<DeviceMemory> memory;
  std::vector<CallUse> calls;
  CallSites call_sites;                        // if the trace has stacks
  std::vector<OpUse> ops, op_groups;           // each name; running numbers folded
  std::vector<RangeUse> ranges, range_groups;  // likewise
  std::vector<SlowRanges> slow_ranges;
  Phases phases;                         // found from the jobs
  std::vector<DeviceRoofline> roofline;  // by the device's own figures: UseCeilings()
  std::vector<ClockQuality> clocks;
  std::vector<ClockEdge> clock_edges;
  Causality causality;
  std::vector<uint64_t> overlaps;  // by device: DeviceUse::overlapping_commands
  Losses losses;
  std::vector<Law> laws;
  Overhead overhead;
  Verdict verdict;
  PartLimits part_limits;  // empty where `limiter` is
  Limiter limiter;
  std::vector<Advice> advice;  // by gain
};

// laws: of the whole trace, where the model is a part of it (model/select.h); else computed.
// Without predictions `limiter` and `advice` stay empty: they take most of the time.
enum class Predictions { kAll, kNone };
Report ComputeReport(const model::Model& model, const std::vector<Law>* laws = nullptr,
                     Predictions predictions = Predictions::kAll);
// Parts of a report, as they are in it: all that a view shows which asks for no more. What is
// left out stays empty, and is not computed.
//
// What FindProblems() looks at, and the counts of it.
Report ComputeChecks(const model::Model& model, const std::vector<Law>* laws = nullptr);
// The same, but for how wide the bounds of clocks are. All that it takes is in a model that was
// loaded with LoadOptions::checks_only.
Report ComputeVerification(const model::Model& model);
// What ComputeChecks() has, the breakdown, the overhead and the verdict.
Report ComputeJudgement(const model::Model& model, const std::vector<Law>* laws = nullptr);
// These and the advice: view::TextAnswer().
Report ComputeAnswer(const model::Model& model, const std::vector<Law>* laws = nullptr);
// These and the run's limiter.
Report ComputeLimits(const model::Model& model, const std::vector<Law>* laws = nullptr);
// The roofline anew, with ceilings that were measured.
void UseCeilings(const std::vector<MeasuredCeilings>& measured, Report* report);

// Something that is wrong with a trace.
struct Finding {
  std::string kind;  // stable: damage, rows, order, law, loss, clock
  std::string text;
};

// What `verify` looks for, in order of kind.
std::vector<Finding> FindProblems(const Report& report);
// Only what shows that rows are missing: damage, rows, loss. Needs the losses alone.
std::vector<Finding> FindFaults(const model::Model& model, const Losses& losses);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_H_
