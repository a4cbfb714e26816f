// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/report.h"

#include <memory>
#include <utility>

#include "libtrace/analysis/usage/command_answers.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"

namespace acceltrace::analysis {

namespace {

// Counters cover all processes, so they do not apply to a selection of jobs.
void DropCounters(Report* report) {
  for (DeviceUse& use : report->utilisation) {
    for (UnitUse& unit : use.units) unit.check = {};
  }
  for (DeviceMemory& memory : report->memory) memory.counters = {};
}

// The run's graph, built when it is first needed.
class RunGraph {
 public:
  RunGraph(const model::Model& model, const Breakdown& breakdown)
      : model_(model), breakdown_(breakdown), work_(model) {}

  const TracerWork& work() const { return work_; }
  Graph& graph() {
    if (!made_) graph_ = BuildGraph(model_, work_, breakdown_.begin_ns, breakdown_.end_ns);
    made_ = true;
    return graph_;
  }
  Replays* replays() {
    if (replays_ == nullptr) replays_ = std::make_unique<Replays>(graph());
    return replays_.get();
  }

 private:
  const model::Model& model_;
  const Breakdown& breakdown_;
  const TracerWork work_;
  bool made_ = false;
  Graph graph_;
  std::unique_ptr<Replays> replays_;
};

// The report must have its checks and its breakdown.
void JudgeRun(const model::Model& model, RunGraph* run, Report* report) {
  report->overhead =
      ComputeOverhead(model, report->breakdown, run->work(), [run] { return run->replays(); });
  const std::string& advice = report->overhead.advice;
  if (!advice.empty()) report->breakdown.verdict += "; " + advice;
  report->verdict = ComputeVerdict(*report);
}

enum class Depth { kVerdict, kAdvice, kLimiter };

Report Judged(const model::Model& model, const std::vector<Law>* laws, Depth depth) {
  Report report = ComputeChecks(model, laws);
  report.breakdown = ComputeBreakdown(model, BreakdownParts::kAnswer);
  RunGraph run(model, report.breakdown);
  JudgeRun(model, &run, &report);
  if (depth == Depth::kVerdict) return report;
  if (!report.verdict.predicts()) {
    if (depth == Depth::kLimiter) report.limiter = WithheldLimiter(report.verdict);
  } else {
    if (depth == Depth::kLimiter) {
      report.limiter = ComputeLimiter(run.replays(), report.breakdown, report.verdict);
    }
    report.advice = ComputeAdvice(model, report.verdict, &run.graph(), run.replays());
  }
  return report;
}

}  // namespace

Report ComputeChecks(const model::Model& model, const std::vector<Law>* laws) {
  Report report;
  CollectEvidence(model, laws, Overlaps::kCount, ClockParts::kAll, &report);
  return report;
}

Report ComputeVerification(const model::Model& model) {
  Report report;
  CollectEvidence(model, nullptr, Overlaps::kCount, ClockParts::kFit, &report);
  return report;
}

Report ComputeJudgement(const model::Model& model, const std::vector<Law>* laws) {
  return Judged(model, laws, Depth::kVerdict);
}

Report ComputeAnswer(const model::Model& model, const std::vector<Law>* laws) {
  return Judged(model, laws, Depth::kAdvice);
}

Report ComputeLimits(const model::Model& model, const std::vector<Law>* laws) {
  return Judged(model, laws, Depth::kLimiter);
}

Report ComputeReport(const model::Model& model, const std::vector<Law>* laws,
                     Predictions predictions) {
  Report report;
  CollectEvidence(model, laws, Overlaps::kLeave, ClockParts::kAll, &report);
  report.breakdown = ComputeBreakdown(model);
  CommandAnswers answers = ComputeOfCommands(model, true);
  report.utilisation = std::move(answers.utilisation);
  report.overlaps.resize(model.devices.size());
  for (const DeviceUse& use : report.utilisation) {
    report.overlaps[use.device] = use.overlapping_commands;
  }
  report.latency = ComputeLatency(model);
  report.system = ComputeSystem(model);
  report.transfers = std::move(answers.transfers);
  report.memory = ComputeMemory(model, report.utilisation);
  report.calls = ComputeCalls(model);
  symbols::FrameNames names;
  report.call_sites = ComputeCallSites(model, &names);
  const Ops& ops = answers.ops;
  std::vector<uint32_t> range_of, range_group_of;
  report.ranges = ComputeRanges(model, false, &range_of);
  report.range_groups = ComputeRanges(model, true, &range_group_of);
  report.slow_ranges = FindSlowRanges(model);
  if (model.cut.by_job) DropCounters(&report);
  RunGraph run(model, report.breakdown);
  JudgeRun(model, &run, &report);
  const bool withheld = !report.verdict.predicts();
  if (withheld) {
    report.phases.why_none =
        report.verdict.withheld() ? "the verdict is withheld" : "devices are not seen inside";
  } else {
    report.phases = FindPhases(model, report.breakdown.begin_ns, report.breakdown.end_ns);
  }
  // This comes before the limiter of the run, whose replays are then known.
  if (predictions != Predictions::kNone && !withheld && run.graph().last != Graph::kNone) {
    report.part_limits = ComputePartLimits(
        model, {report.ranges, report.range_groups, range_of, range_group_of, ops, report.phases},
        run.replays());
  }
  report.ops = std::move(answers.ops.by_name);
  report.op_groups = std::move(answers.ops.by_group);
  UseCeilings({}, &report);
  if (predictions == Predictions::kNone) return report;
  if (withheld) {
    report.limiter = WithheldLimiter(report.verdict);
    return report;
  }
  report.limiter = ComputeLimiter(run.replays(), report.breakdown, report.verdict);
  report.advice = ComputeAdvice(model, report.verdict, &run.graph(), run.replays());
  return report;
}

void UseCeilings(const std::vector<MeasuredCeilings>& measured, Report* report) {
  report->roofline = ComputeRoofline(*report->model, report->transfers, report->op_groups,
                                     report->range_groups, measured);
}

}  // namespace acceltrace::analysis
