// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "libtrace/analysis/checks/law_pass.h"
#include "libtrace/analysis/usage/command_answers.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {

namespace {

// Counts rows with a value other than 0.
template <typename T>
uint64_t CountSet(const model::Column<T>& column) {
  constexpr size_t kRows = model::Column<T>::kRows;
  T values[kRows];
  uint64_t count = 0;
  for (size_t first = 0; first < column.size(); first += kRows) {
    const size_t rows = std::min(kRows, column.size() - first);
    column.Read(first, rows, values);
    T low = 0, high = 0;
    stream::WidenTo(values, rows, &low, &high);
    if (low == high) continue;  // all are 0, the usual case
    count += rows - static_cast<uint64_t>(std::count(values, values + rows, T{0}));
  }
  return count;
}

}  // namespace

Counts ComputeCounts(const model::Model& model) {
  Counts counts;
  counts.api_calls = model.api.size();
  counts.api_failed = CountSet(model.api.result);
  counts.api_open = CountSet(model.api.open);
  counts.marks = CountSet(model.ranges.mark);
  counts.ranges = model.ranges.mark.size() - counts.marks;
  counts.host_events = model.host.size() + model.host.alone;
  counts.jobs = model.jobs.size();
  counts.jobs_failed = CountSet(model.jobs.status);
  counts.commands = model.commands.size();
  counts.commands_failed = CountSet(model.commands.status);
  for (const model::Device& device : model.devices) {
    counts.counter_samples += device.counters.size();
    counts.clock_samples += device.clock_samples;
  }
  counts.device_events = model.device_events.size();
  return counts;
}

namespace {

// Counters cover all processes, so they do not apply to a selection of jobs.
void DropCounters(Report* report) {
  for (DeviceUse& use : report->utilisation) {
    for (UnitUse& unit : use.units) unit.check = {};
  }
  for (DeviceMemory& memory : report->memory) memory.counters = {};
}

enum class Overlaps { kCount, kLeave };

// Computes what FindProblems() examines.
void Check(const model::Model& model, const std::vector<Law>* laws, Overlaps overlaps,
           Report* report, ClockParts clocks = ClockParts::kAll) {
  report->model = &model;
  report->counts = ComputeCounts(model);
  report->clocks = ComputeClockQuality(model, clocks);
  report->clock_edges = ComputeClockEdges(model);
  report->losses = ComputeLosses(model);
  const auto pass = std::make_unique<LawPass>(model);
  const auto causality = SumCausality(pass.get());
  const auto conservation = laws != nullptr ? nullptr : SumConservation(report->losses, pass.get());
  const auto overlapping = overlaps == Overlaps::kCount ? SumOverlaps(pass.get()) : nullptr;
  pass->Run();
  report->causality = causality->Finish();
  report->laws = laws != nullptr ? *laws : conservation->Finish();
  if (overlapping != nullptr) report->overlaps = overlapping->Finish();
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
  Check(model, laws, Overlaps::kCount, &report);
  return report;
}

Report ComputeVerification(const model::Model& model) {
  Report report;
  Check(model, nullptr, Overlaps::kCount, &report, ClockParts::kFit);
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
  Check(model, laws, Overlaps::kLeave, &report);
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

namespace {

std::string BodyName(uint32_t body) {
  const auto* field = proto::Packet::descriptor()->FindFieldByNumber(static_cast<int>(body));
  return field == nullptr ? fmt::format("kind {}", body) : field->name();
}

// Finds what the file lacks according to the index in its footer.
void FindMissing(const model::Missing& missing, std::vector<Finding>* findings) {
  for (const model::Missing::Part& part : missing.parts) {
    findings->push_back({"damage", part.rows > 0 ? fmt::format("{} rows of {} are missing",
                                                               part.rows, BodyName(part.body))
                                                 : fmt::format("{} packets of {} are missing",
                                                               part.packets, BodyName(part.body))});
  }
  if (missing.rows > 0) {
    findings->push_back(
        {"damage",
         fmt::format("{} rows that were written, by the accounts, are missing", missing.rows)});
  }
  if (missing.unknown_packets > 0) {
    findings->push_back(
        {"damage", fmt::format("{} packets are not in the file's index", missing.unknown_packets)});
  }
}

// Describes how much may be missing at the end of an aborted recording.
std::string AtMostMissing(const model::Model& model) {
  const auto& notes = model.info.notes();
  const auto flush = notes.find("flush-ns");
  if (flush == notes.end()) return "";
  const double flush_ms = std::strtod(flush->second.c_str(), nullptr) / 1e6;
  return fmt::format("; what came in its last {:.0f} ms at most is missing", flush_ms);
}

void FindDamage(const model::Model& model, std::vector<Finding>* findings) {
  const stream::ReadStats& read = model.read;
  if (!read.has_footer) {
    findings->push_back(
        {"damage", "no footer: the recording did not end in good order" + AtMostMissing(model)});
  }
  FindMissing(model.missing, findings);
  for (const stream::Gap& gap : read.gaps) {
    findings->push_back(
        {"damage", fmt::format("{} at byte {}: {} bytes skipped{}", gap.reason, gap.offset_bytes,
                               gap.length_bytes,
                               gap.missing_packets > 0
                                   ? fmt::format(", {} packets missing", gap.missing_packets)
                                   : "")});
  }
  if (read.gap_count > read.gaps.size()) {
    findings->push_back(
        {"damage", fmt::format("{} more damaged stretches", read.gap_count - read.gaps.size())});
  }
  const std::pair<uint64_t, const char*> kinds[] = {
      {read.bad_packets, "with invalid content"},
      {read.duplicate_packets, "there twice"},
      {read.reordered_packets, "out of order"},
  };
  for (const auto& [count, what] : kinds) {
    if (count > 0) findings->push_back({"damage", fmt::format("{} packets {}", count, what)});
  }
  if (!model.has_info) findings->push_back({"damage", "the first packet is missing"});
  if (!model.has_accounts) {
    findings->push_back({"damage", "the accounts are missing: what was lost is not known"});
  }
  if (read.index_differences > 0) {
    findings->push_back(
        {"damage", fmt::format("the index does not fit the packets: {} differ; first: {}",
                               read.index_differences, read.index_note)});
  }
}

void FindBadRows(const model::LoadStats& load, std::vector<Finding>* findings) {
  const std::pair<uint64_t, const char*> kinds[] = {
      {load.unknown_device_rows, "rows of a device that is not described"},
      {load.bad_rows, "rows with a unit, job or counter that their device does not have"},
      {load.long_stalls, "commands with stalls that are longer than they took"},
      {load.duplicate_commands, "command records seen twice"},
      {load.duplicate_jobs, "job records seen twice"},
      {load.duplicate_records, "records of devices whose numbers were seen before"},
      {load.disordered_rows, "records of devices in another order than they were written"},
  };
  for (const auto& [count, what] : kinds) {
    if (count > 0) findings->push_back({"rows", fmt::format("{} {}", count, what)});
  }
}

void FindOverlaps(const Report& report, std::vector<Finding>* findings) {
  for (size_t device = 0; device < report.overlaps.size(); ++device) {
    if (report.overlaps[device] == 0) continue;
    findings->push_back({"order", fmt::format("{}: {} commands overlap on an in-order unit",
                                              report.model->devices[device].about.name(),
                                              report.overlaps[device])});
  }
}

void FindViolations(const Report& report, std::vector<Finding>* findings) {
  for (const Violation& violation : report.causality.examples) {
    const model::Jobs& jobs = report.model->jobs;
    const auto time = [](const char* what, bool on_device, uint64_t ticks,
                         const model::Interval& at) {
      if (!on_device) return fmt::format("{} {} ns", what, at.mid_ns);
      return fmt::format("{} {} ticks = {} ns [{}, {}]", what, ticks, at.mid_ns, at.lo_ns,
                         at.hi_ns);
    };
    findings->push_back(
        {"order", fmt::format("{} job {}: {} by at least {} ns: {}, {}",
                              report.model->devices[jobs.device[violation.job]].about.name(),
                              jobs.job[violation.job], violation.what, violation.by_ns,
                              time("earlier", violation.earlier_on_device, violation.earlier_ticks,
                                   violation.earlier),
                              time("later", violation.later_on_device, violation.later_ticks,
                                   violation.later))});
  }
  if (report.causality.violations > report.causality.examples.size()) {
    findings->push_back(
        {"order", fmt::format("{} more violations of the order of events",
                              report.causality.violations - report.causality.examples.size())});
  }
}

void FindLosses(const Losses& losses, std::vector<Finding>* findings) {
  for (const HopUse& hop : losses.hops) {
    if (hop.lost + hop.bad == 0) continue;
    findings->push_back({"loss", fmt::format("{}: {} events lost, {} refused of {}", hop.name,
                                             hop.lost, hop.bad, hop.in)});
  }
  for (const LossSpan& span : losses.spans) {
    const bool known = span.first_ns != model::kNoTime && span.last_ns != model::kNoTime;
    findings->push_back({"loss", fmt::format("{}: {} events{}", span.hop, span.count,
                                             known ? fmt::format(" between {} and {} ns",
                                                                 span.first_ns, span.last_ns)
                                                   : "")});
  }
  for (const auto& [pid, why] : losses.unseen) {
    findings->push_back(
        {"loss", fmt::format("API calls of process {} could not be seen: {}", pid, why)});
  }
  if (losses.more_spans > 0) {
    findings->push_back({"loss", fmt::format("{} more loss records", losses.more_spans)});
  }
}

void FindClockTrouble(const Report& report, std::vector<Finding>* findings) {
  for (const ClockQuality& clock : report.clocks) {
    const std::string& name = report.model->devices[clock.device].about.name();
    if (!clock.valid && report.model->commands.size() > 0) {
      findings->push_back({"clock", fmt::format("{}: {}", name, clock.error)});
    }
    if (clock.fit.samples_wrong > 0) {
      findings->push_back(
          {"sample", fmt::format("{}: clock samples that those around them contradict: {} of {}",
                                 name, clock.fit.samples_wrong, clock.fit.samples)});
    }
    if (clock.fit.constraints_rejected > 0) {
      findings->push_back({"clock", fmt::format("{}: {} event orders contradict the clock samples",
                                                name, clock.fit.constraints_rejected)});
    }
  }
  for (const ClockEdge& edge : report.clock_edges) {
    if (edge.contradicting == 0) continue;
    findings->push_back({"clock", fmt::format("{} to {}: {} of {} orders contradict the clocks",
                                              report.model->devices[edge.from].about.name(),
                                              report.model->devices[edge.to].about.name(),
                                              edge.contradicting, edge.orders)});
  }
}

}  // namespace

std::vector<Finding> FindFaults(const model::Model& model, const Losses& losses) {
  std::vector<Finding> findings;
  FindDamage(model, &findings);
  FindBadRows(model.load, &findings);
  FindLosses(losses, &findings);
  return findings;
}

std::vector<Finding> FindProblems(const Report& report) {
  std::vector<Finding> findings = FindFaults(*report.model, report.losses);
  FindOverlaps(report, &findings);
  FindViolations(report, &findings);
  for (const Law& law : report.laws) {
    if (law.state != Law::State::kBroken) continue;
    findings.push_back({"law", fmt::format("{}{}{}: {} of {} broken; first: {}", law.device,
                                           law.device.empty() ? "" : ": ", law.text, law.broken,
                                           law.checked, law.note)});
  }
  FindClockTrouble(report, &findings);
  return findings;
}

}  // namespace acceltrace::analysis
