// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json/clock_json.h"
#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {

Json ClocksJson(const analysis::Report& report) {
  Json clocks = Json::array();
  for (const analysis::ClockQuality& clock : report.clocks) {
    Json json = {{"device", DeviceName(report, clock.device)}, {"valid", clock.valid}};
    if (!clock.valid) {
      json["error"] = clock.error;
      clocks.push_back(json);
      continue;
    }
    json.update(FitJson(clock.fit));
    json["events"] = clock.events;
    json["events_outside"] = clock.outside;
    json["bound_p50_ns"] = NsJson(clock.bound_p50_ns);
    json["bound_p99_ns"] = NsJson(clock.bound_p99_ns);
    json["bound_max_ns"] = NsJson(clock.bound_max_ns);
    clocks.push_back(json);
  }
  return clocks;
}

Json ClockEdgesJson(const analysis::Report& report) {
  Json edges = Json::array();
  for (const analysis::ClockEdge& edge : report.clock_edges) {
    edges.push_back({{"from", DeviceName(report, edge.from)},
                     {"to", DeviceName(report, edge.to)},
                     {"orders", edge.orders},
                     {"contradicting", edge.contradicting},
                     {"least_lo_ns", BoundJson(edge.least.lo_ns, edge.least.mid_ns)},
                     {"least_ns", NsJson(edge.least.mid_ns)},
                     {"least_hi_ns", BoundJson(edge.least.hi_ns, edge.least.mid_ns)},
                     {"bound_p50_ns", NsJson(edge.bound_p50_ns)}});
  }
  return edges;
}

Json LossesJson(const analysis::Losses& losses) {
  Json hops = Json::array(), spans = Json::array();
  for (const analysis::HopUse& hop : losses.hops) {
    hops.push_back({{"hop", hop.name},
                    {"in", hop.in},
                    {"out", hop.out},
                    {"lost", hop.lost},
                    {"bad", hop.bad}});
  }
  for (const analysis::LossSpan& span : losses.spans) {
    Json json = {{"hop", span.hop}, {"count", span.count}};
    if (span.first_ns != model::kNoTime) json["first_at_ns"] = span.first_ns;
    if (span.last_ns != model::kNoTime) json["last_at_ns"] = span.last_ns;
    spans.push_back(json);
  }
  Json unseen = Json::array();
  for (const auto& [pid, why] : losses.unseen) unseen.push_back({{"pid", pid}, {"reason", why}});
  return {{"has_accounts", losses.has_accounts},
          {"lost", losses.lost},
          {"bad", losses.bad},
          {"hops", hops},
          {"spans", spans},
          {"damaged_stretches", losses.damaged_stretches},
          {"damaged_bytes", losses.damaged_bytes},
          {"missing_packets", losses.missing_packets},
          {"bad_packets", losses.bad_packets},
          {"unusable_rows", losses.unusable_rows},
          {"unseen", unseen}};
}

namespace {

Json IntervalJson(const model::Interval& at, bool on_device, uint64_t ticks) {
  Json json = {{"at_ns", at.mid_ns}};
  if (on_device) {
    json["ticks"] = ticks;
    json["lo_at_ns"] = BoundJson(at.lo_ns, at.mid_ns);
    json["hi_at_ns"] = BoundJson(at.hi_ns, at.mid_ns);
  }
  return json;
}

}  // namespace

Json CausalityJson(const analysis::Report& report) {
  const analysis::Causality& order = report.causality;
  Json examples = Json::array();
  for (const analysis::Violation& violation : order.examples) {
    const model::Jobs& jobs = report.model->jobs;
    examples.push_back({{"device", DeviceName(report, jobs.device[violation.job])},
                        {"job", jobs.job[violation.job]},
                        {"what", violation.what},
                        {"by_ns", violation.by_ns},
                        {"earlier", IntervalJson(violation.earlier, violation.earlier_on_device,
                                                 violation.earlier_ticks)},
                        {"later", IntervalJson(violation.later, violation.later_on_device,
                                               violation.later_ticks)}});
  }
  return {
      {"jobs", order.jobs},         {"constraints", order.constraints}, {"certain", order.certain},
      {"possible", order.possible}, {"violations", order.violations},   {"examples", examples}};
}

Json LawsJson(const analysis::Report& report) {
  Json laws = Json::array();
  for (const analysis::Law& law : report.laws) {
    Json json = {{"law", law.name}, {"text", law.text}};
    if (!law.device.empty()) json["device"] = law.device;
    json["state"] = law.state == analysis::Law::State::kHolds    ? "holds"
                    : law.state == analysis::Law::State::kBroken ? "broken"
                                                                 : "unknown";
    json["checked"] = law.checked;
    json["broken"] = law.broken;
    if (!law.note.empty()) json["note"] = law.note;
    laws.push_back(json);
  }
  return laws;
}

// Adds what was calibrated, and the consequences for the run.
namespace {

void AddCalibratedCost(const analysis::Overhead& cost, Json* json) {
  Json kinds = Json::array(), threads = Json::array(), classes;
  for (const analysis::EventKindCost& kind : cost.kinds) {
    kinds.push_back({{"kind", kind.kind},
                     {"events", kind.events},
                     {"each_ns", Rounded(kind.each_ns)},
                     {"each_error_ns", Rounded(kind.each_error_ns)}});
  }
  for (const analysis::ThreadCost& thread : cost.threads) {
    threads.push_back(
        {{"tid", thread.tid}, {"events", thread.events}, {"time", SpanJson(thread.time)}});
  }
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    if (cost.in_class[c].hi_ns == 0) continue;
    classes[analysis::ClassName(static_cast<analysis::Class>(c))] = SpanJson(cost.in_class[c]);
  }
  (*json)["calibrated"] = true;
  (*json)["run"] = SpanJson(cost.run);
  (*json)["run_share"] = Rounded(cost.share);
  (*json)["events"] = SpanJson(cost.events);
  (*json)["recorder"] = SpanJson(cost.recorder);
  (*json)["wakes"] = cost.wakes;
  (*json)["event_kinds"] = kinds;
  (*json)["threads"] = threads;
  (*json)["in_class"] = classes.is_null() ? Json::object() : classes;
}

}  // namespace

Json TracerJson(const analysis::Report& report) {
  const analysis::Overhead& cost = report.overhead;
  Json probes = Json::array();
  for (const proto::Probe& probe : report.model->info.probes()) {
    Json json = {{"probe", probe.name()}, {"attached", probe.attached()}};
    if (!probe.attached()) json["reason"] = probe.reason();
    probes.push_back(json);
  }
  Json json = {{"known", cost.known}};
  if (cost.known) {
    json["recorded_ns"] = cost.recorded_ns;
    json["cpu_ns"] = cost.cpu_ns;
    json["cpu_share"] = Rounded(cost.cpu_share);
    json["probe_ns"] = cost.probe_ns;
    json["probe_runs"] = cost.probe_runs;
    json["probe_share"] = Rounded(cost.probe_share);
    json["bytes_written"] = cost.bytes_written;
    json["rows"] = cost.rows;
    json["bytes_per_row"] = Rounded(cost.bytes_per_row);
  }
  if (cost.calibrated) AddCalibratedCost(cost, &json);
  json["probes"] = probes;
  return json;
}

}  // namespace acceltrace::view
