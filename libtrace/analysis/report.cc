// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report.h"

#include <fmt/format.h>

#include <utility>

#include "libtrace/analysis/graph.h"
#include "libtrace/analysis/replays.h"

namespace acceltrace::analysis {

Counts ComputeCounts(const model::Model& model) {
  Counts counts;
  counts.api_calls = model.api.size();
  for (size_t i = 0; i < model.api.size(); ++i) {
    counts.api_failed += model.api.result[i] != 0;
    counts.api_open += model.api.open[i] != 0;
  }
  for (uint8_t mark : model.ranges.mark) ++(mark ? counts.marks : counts.ranges);
  counts.host_events = model.host.size();
  counts.jobs = model.jobs.size();
  for (uint32_t status : model.jobs.status) counts.jobs_failed += status != 0;
  counts.commands = model.commands.size();
  for (uint32_t status : model.commands.status) counts.commands_failed += status != 0;
  for (const model::Device& device : model.devices) {
    counts.counter_samples += device.counters.size();
    counts.clock_samples += device.clock_samples;
  }
  counts.device_events = model.device_events.size();
  return counts;
}

namespace {

// Counters count what everybody did: they say nothing of the jobs of some.
void DropCounters(Report* report) {
  for (DeviceUse& use : report->utilisation) {
    for (UnitUse& unit : use.units) unit.check = {};
  }
  for (DeviceMemory& memory : report->memory) memory.counters = {};
}

}  // namespace

Report ComputeReport(const model::Model& model, const std::vector<Law>* laws,
                     Predictions predictions) {
  Report report;
  report.model = &model;
  report.counts = ComputeCounts(model);
  report.breakdown = ComputeBreakdown(model);
  report.utilisation = ComputeUtilisation(model);
  report.latency = ComputeLatency(model);
  report.system = ComputeSystem(model);
  report.transfers = ComputeTransfers(model);
  report.memory = ComputeMemory(model, report.utilisation);
  report.calls = ComputeCalls(model);
  symbols::FrameNames names;
  report.call_sites = ComputeCallSites(model, &names);
  Ops ops = ComputeOps(model);
  std::vector<uint32_t> range_of, range_group_of;
  report.ranges = ComputeRanges(model, false, &range_of);
  report.range_groups = ComputeRanges(model, true, &range_group_of);
  report.clocks = ComputeClockQuality(model);
  report.clock_edges = ComputeClockEdges(model);
  report.causality = ComputeCausality(model);
  report.losses = ComputeLosses(model);
  report.laws = laws != nullptr ? *laws : ComputeConservation(model, report.losses);
  if (model.cut.by_job) DropCounters(&report);
  const TracerWork work(model);
  Graph graph;
  if (work.known() || predictions != Predictions::kNone) {
    graph = BuildGraph(model, work, report.breakdown.begin_ns, report.breakdown.end_ns);
  }
  Replays replays(graph);
  report.overhead = ComputeOverhead(model, report.breakdown, work, &replays);
  if (!report.overhead.advice.empty()) report.breakdown.verdict += "; " + report.overhead.advice;
  report.verdict = ComputeVerdict(report);
  if (report.verdict.withheld()) {
    report.phases.why_none = "the verdict is withheld";
  } else {
    report.phases = FindPhases(model, report.breakdown.begin_ns, report.breakdown.end_ns);
  }
  // Before the run's: its replays are then known.
  if (predictions != Predictions::kNone && graph.last != Graph::kNone &&
      !report.verdict.withheld()) {
    report.part_limits = ComputePartLimits(
        model, {report.ranges, report.range_groups, range_of, range_group_of, ops, report.phases},
        &replays);
  }
  report.ops = std::move(ops.by_name), report.op_groups = std::move(ops.by_group);
  UseCeilings({}, &report);
  if (predictions == Predictions::kNone) return report;
  report.limiter = ComputeLimiter(&replays, report.breakdown, report.verdict);
  report.advice = ComputeAdvice(model, report.verdict, &graph, &replays);
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

// What the file lacks, by the index in its footer.
void FindMissing(const model::Missing& missing, std::vector<Finding>* findings) {
  for (const model::Missing::Part& part : missing.parts) {
    findings->push_back({"damage", part.rows > 0 ? fmt::format("{} rows of {} are missing",
                                                               part.rows, BodyName(part.body))
                                                 : fmt::format("{} packets of {} are missing",
                                                               part.packets, BodyName(part.body))});
  }
  if (missing.unknown_packets > 0) {
    findings->push_back(
        {"damage", fmt::format("{} packets are not in the file's index", missing.unknown_packets)});
  }
}

// How much of a recording that was broken off can be missing at its end.
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
  for (const DeviceUse& use : report.utilisation) {
    if (use.overlapping_commands > 0) {
      findings->push_back({"order", fmt::format("{}: {} commands overlap on an in-order unit",
                                                report.model->devices[use.device].about.name(),
                                                use.overlapping_commands)});
    }
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
