// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/findings.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace acceltrace::analysis {

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

void FindOverlaps(const Evidence& evidence, std::vector<Finding>* findings) {
  for (size_t device = 0; device < evidence.overlaps.size(); ++device) {
    if (evidence.overlaps[device] == 0) continue;
    findings->push_back({"order", fmt::format("{}: {} commands overlap on an in-order unit",
                                              evidence.model->devices[device].about.name(),
                                              evidence.overlaps[device])});
  }
}

void FindViolations(const Evidence& evidence, std::vector<Finding>* findings) {
  for (const Violation& violation : evidence.causality.examples) {
    const model::Jobs& jobs = evidence.model->jobs;
    const auto time = [](const char* what, bool on_device, uint64_t ticks,
                         const model::Interval& at) {
      if (!on_device) return fmt::format("{} {} ns", what, at.mid_ns);
      return fmt::format("{} {} ticks = {} ns [{}, {}]", what, ticks, at.mid_ns, at.lo_ns,
                         at.hi_ns);
    };
    findings->push_back(
        {"order", fmt::format("{} job {}: {} by at least {} ns: {}, {}",
                              evidence.model->devices[jobs.device[violation.job]].about.name(),
                              jobs.job[violation.job], violation.what, violation.by_ns,
                              time("earlier", violation.earlier_on_device, violation.earlier_ticks,
                                   violation.earlier),
                              time("later", violation.later_on_device, violation.later_ticks,
                                   violation.later))});
  }
  if (evidence.causality.violations > evidence.causality.examples.size()) {
    findings->push_back(
        {"order", fmt::format("{} more violations of the order of events",
                              evidence.causality.violations - evidence.causality.examples.size())});
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

void FindClockTrouble(const Evidence& evidence, std::vector<Finding>* findings) {
  for (const ClockQuality& clock : evidence.clocks) {
    const std::string& name = evidence.model->devices[clock.device].about.name();
    if (!clock.valid && evidence.model->commands.size() > 0) {
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
  for (const ClockEdge& edge : evidence.clock_edges) {
    if (edge.contradicting == 0) continue;
    findings->push_back({"clock", fmt::format("{} to {}: {} of {} orders contradict the clocks",
                                              evidence.model->devices[edge.from].about.name(),
                                              evidence.model->devices[edge.to].about.name(),
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

std::vector<Finding> FindProblems(const Evidence& evidence) {
  std::vector<Finding> findings = FindFaults(*evidence.model, evidence.losses);
  FindOverlaps(evidence, &findings);
  FindViolations(evidence, &findings);
  for (const Law& law : evidence.laws) {
    if (law.state != Law::State::kBroken) continue;
    findings.push_back({"law", fmt::format("{}{}{}: {} of {} broken; first: {}", law.device,
                                           law.device.empty() ? "" : ": ", law.text, law.broken,
                                           law.checked, law.note)});
  }
  FindClockTrouble(evidence, &findings);
  return findings;
}

}  // namespace acceltrace::analysis
