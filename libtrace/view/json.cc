// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "libtrace/view/clock_json.h"
#include "libtrace/view/path_json.h"

namespace acceltrace::view {
namespace {

using analysis::Report;
using Json = nlohmann::ordered_json;

// {"ns", "lo_ns", "hi_ns"}; bounds only where they differ from the value.
Json SpanJson(const analysis::Span& span) {
  Json json = {{"ns", span.mid_ns}};
  if (span.lo_ns != span.mid_ns || span.hi_ns != span.mid_ns) {
    json["lo_ns"] = span.lo_ns;
    json["hi_ns"] = span.hi_ns;
  }
  return json;
}

Json SpanJson(const analysis::Amount& amount) { return SpanJson(amount.Round()); }

// `name`, and where they differ from it `name`_lo and `name`_hi; an upper bound that is not
// known is null.
void AddRatio(Json* json, const std::string& name, const analysis::Ratio& ratio, double scale) {
  const auto number = [scale](double value) { return Json(value / scale); };
  (*json)[name] = number(std::round(ratio.mid * scale));
  const double lo = std::floor(ratio.lo * scale), hi = std::ceil(ratio.hi * scale);
  if (lo == hi) return;
  (*json)[name + "_lo"] = number(lo);
  (*json)[name + "_hi"] = std::isinf(ratio.hi) ? Json() : number(hi);
}
// Six decimals are more than any share here is worth; rates are whole.
constexpr double kShareScale = 1e6, kRateScale = 1;

Json ShareJson(const analysis::Amount& part, const analysis::Ratio& share) {
  Json json = SpanJson(part);
  AddRatio(&json, "share", share, kShareScale);
  return json;
}

Json StatsJson(const analysis::Stats& stats) {
  Json json = {{"count", stats.count}};
  if (stats.count == 0) return json;
  json["min"] = SpanJson(stats.min);
  json["mean"] = SpanJson(stats.mean);
  json["p50"] = SpanJson(stats.p50);
  json["p90"] = SpanJson(stats.p90);
  json["p99"] = SpanJson(stats.p99);
  json["max"] = SpanJson(stats.max);
  json["total"] = SpanJson(stats.total);
  return json;
}

double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

const std::string& DeviceName(const Report& report, uint32_t device) {
  return report.model->devices[device].about.name();
}

Json TraceJson(const Report& report) {
  const model::Model& model = *report.model;
  const proto::TraceInfo& info = model.info;
  Json command = Json::array();
  for (const std::string& word : info.command()) command.push_back(word);
  Json json = {{"command", command},
               {"host", info.host()},
               {"kernel", info.kernel()},
               {"cpu", info.cpu()},
               {"num_cpus", info.num_cpus()},
               {"tool_version", info.tool_version()},
               {"start_at_ns", info.start_ns()},
               {"realtime_offset_ns", info.realtime_offset_ns()},
               {"first_event_at_ns", model.begin_ns},
               {"last_event_at_ns", model.end_ns}};
  if (model.cut.any()) {
    json["selection"] = {
        {"text", model.cut.text}, {"rows", model.cut.rows}, {"rows_of_all", model.cut.of}};
  }
  if (model.has_accounts) {
    json["stop_at_ns"] = model.accounts.stop_ns();
    json["stop_reason"] = model.accounts.stop_reason();
    json["command_status"] = model.accounts.command_status();
  }
  return json;
}

Json DevicesJson(const Report& report) {
  Json devices = Json::array();
  for (const model::Device& device : report.model->devices) {
    const proto::Device& about = device.about;
    const proto::Pci& pci = about.pci();
    devices.push_back({{"name", about.name()},
                       {"driver", about.driver()},
                       {"model", about.model()},
                       {"pci_address", pci.address()},
                       {"link_generation", pci.link_speed()},
                       {"link_width", pci.link_width()},
                       {"link_generation_max", pci.link_speed_max()},
                       {"link_width_max", pci.link_width_max()},
                       {"max_payload_bytes", pci.max_payload_bytes()},
                       {"max_read_request_bytes", pci.max_read_request_bytes()},
                       {"numa_node", pci.numa_node()},
                       {"memory_bytes", about.memory_bytes()},
                       {"memory_bytes_per_s", about.memory_bytes_per_s()},
                       {"clock_hz", about.clock().nominal_hz()}});
  }
  return devices;
}

Json CountsJson(const analysis::Counts& counts) {
  return {{"api_calls", counts.api_calls},
          {"api_failed", counts.api_failed},
          {"api_open", counts.api_open},
          {"ranges", counts.ranges},
          {"marks", counts.marks},
          {"host_events", counts.host_events},
          {"jobs", counts.jobs},
          {"jobs_failed", counts.jobs_failed},
          {"commands", counts.commands},
          {"commands_failed", counts.commands_failed},
          {"counter_samples", counts.counter_samples},
          {"clock_samples", counts.clock_samples},
          {"device_events", counts.device_events}};
}

Json CaveatsJson(const std::vector<analysis::Caveat>& caveats) {
  Json list = Json::array();
  for (const analysis::Caveat& caveat : caveats) {
    list.push_back({{"kind", caveat.kind}, {"text", caveat.text}, {"fault", caveat.fault}});
  }
  return list;
}

Json VerdictJson(const Report& report) {
  const analysis::Verdict& verdict = report.verdict;
  const bool named = !verdict.withheld() && report.breakdown.RunNs() > 0;
  Json possible = Json::object();
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    possible[analysis::ClassName(static_cast<analysis::Class>(c))] = {
        {"lo_ns", verdict.possible[c].lo_ns}, {"hi_ns", verdict.possible[c].hi_ns}};
  }
  return {{"text", verdict.text},
          {"standing", analysis::StandingName(verdict.standing)},
          {"certain", verdict.standing == analysis::Verdict::Standing::kCertain},
          {"class", named ? Json(analysis::ClassName(report.breakdown.largest)) : Json()},
          {"caveats", CaveatsJson(verdict.caveats)},
          {"possible", possible}};
}

Json BreakdownJson(const Report& report) {
  const analysis::Breakdown& breakdown = report.breakdown;
  Json classes = Json::object();
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    Json entry = SpanJson(breakdown.time[c]);
    AddRatio(&entry, "share", breakdown.Share(breakdown.time[c]), kShareScale);
    classes[analysis::ClassName(static_cast<analysis::Class>(c))] = entry;
  }
  Json limiters = Json::object();
  for (const auto& [name, span] : breakdown.limiters) limiters[name] = SpanJson(span);
  Json json = {{"run_ns", breakdown.RunNs()}};
  if (breakdown.run.lo_ns != breakdown.run.hi_ns) {
    json["run_lo_ns"] = breakdown.run.lo_ns;
    json["run_hi_ns"] = breakdown.run.hi_ns;
  }
  json.update({{"before_ns", breakdown.before_ns},
               {"after_ns", breakdown.after_ns},
               {"verdict", report.verdict.text},
               {"largest", analysis::ClassName(breakdown.largest)},
               {"certain", report.verdict.standing == analysis::Verdict::Standing::kCertain},
               {"overlap", SpanJson(breakdown.overlap)},
               {"gaps",
                {{"count", breakdown.gaps},
                 {"count_lo", breakdown.gaps_lo},
                 {"count_hi", breakdown.gaps_hi},
                 {"total", SpanJson(breakdown.gap_total)},
                 {"longest", SpanJson(breakdown.gap_longest)}}},
               {"classes", classes},
               {"command_time_by_limiter", limiters}});
  return json;
}

Json CheckJson(const model::Device& device, const analysis::CounterCheck& check) {
  Json json = {{"available", check.available}};
  if (!check.available) return json;
  json["commands"] = check.commands;
  json["commands_recorded"] = check.commands_seen;
  json["commands_across_a_snapshot"] = check.straddling;
  json["busy_ticks"] = check.busy_ticks;
  json["busy_ticks_recorded"] = check.commands_busy_ticks;
  Json stalls = Json::object(), recorded = Json::object();
  for (size_t s = 0; s < check.stall_ticks.size(); ++s) {
    stalls[device.about.stalls(static_cast<int>(s))] = check.stall_ticks[s];
    recorded[device.about.stalls(static_cast<int>(s))] = check.commands_stall_ticks[s];
  }
  json["stall_ticks"] = stalls;
  json["stall_ticks_recorded"] = recorded;
  if (check.has_law) json["law_error_ticks"] = check.law_error_ticks;
  json["agrees"] = check.Agrees();
  return json;
}

Json UtilisationJson(const Report& report) {
  Json devices = Json::array();
  for (const analysis::DeviceUse& use : report.utilisation) {
    const model::Device& device = report.model->devices[use.device];
    Json units = Json::array();
    for (const analysis::UnitUse& unit : use.units) {
      Json stalls = Json::object();
      for (size_t s = 0; s < unit.stalls.size(); ++s) {
        stalls[device.about.stalls(static_cast<int>(s))] =
            ShareJson(unit.stalls[s], unit.stall_shares[s]);
      }
      Json limiters = Json::object();
      for (size_t l = 0; l < unit.limiters.size(); ++l) {
        if (unit.limiters[l] > 0) {
          limiters[device.about.limiters(static_cast<int>(l))] = unit.limiters[l];
        }
      }
      Json json = {{"unit", unit.name},
                   {"commands", unit.commands},
                   {"failed", unit.failed},
                   {"work", unit.work},
                   {"work_unit", unit.work_unit},
                   {"peak_work_per_s", unit.peak_work_per_s},
                   {"busy", ShareJson(unit.busy, unit.busy_share)},
                   {"stalled", ShareJson(unit.stalled, unit.stalled_share)},
                   {"idle", ShareJson(unit.idle, unit.idle_share)},
                   {"stalls", stalls},
                   {"commands_by_limiter", limiters},
                   {"counters", CheckJson(device, unit.check)}};
      if (unit.work > 0) AddRatio(&json, "busy_work_per_s", unit.work_per_s, kRateScale);
      if (unit.work > 0 && unit.peak_work_per_s > 0) {
        AddRatio(&json, "busy_peak_share", unit.peak_share, kShareScale);
      }
      units.push_back(json);
    }
    devices.push_back({{"device", device.about.name()},
                       {"window", SpanJson(use.window)},
                       {"overlapping_commands", use.overlapping_commands},
                       {"units", units}});
  }
  return devices;
}

Json LatencyJson(const analysis::Latency& latency) {
  Json stages = Json::object();
  for (const analysis::Stage& stage : latency.stages) {
    Json entry = StatsJson(stage.stats);
    entry["where"] = stage.where == analysis::Where::kHost     ? "host"
                     : stage.where == analysis::Where::kDevice ? "device"
                                                               : "bus";
    stages[stage.name] = entry;
  }
  return {{"jobs", latency.jobs},
          {"jobs_whole", latency.whole},
          {"waits", latency.waits},
          {"waits_blocked", latency.blocked},
          {"stages", stages},
          {"api_to_consumed", StatsJson(latency.end_to_end)},
          {"api_to_return", StatsJson(latency.until_returned)}};
}

Json TransfersJson(const Report& report) {
  Json devices = Json::array();
  for (const analysis::DeviceTransfers& transfers : report.transfers) {
    Json directions = Json::array();
    for (const analysis::Direction& direction : transfers.directions) {
      Json sizes = Json::array();
      const bool has_link = direction.link_bytes_per_s > 0;
      const auto rates = [has_link](const analysis::SizeClass& size, Json* json) {
        AddRatio(json, "bytes_per_s", size.bytes_per_s, kRateScale);
        if (has_link) AddRatio(json, "of_link", size.of_link, kShareScale);
      };
      for (const analysis::SizeClass& size : direction.sizes) {
        Json entry = {{"count", size.count}, {"bytes", size.bytes}, {"time", SpanJson(size.time)}};
        rates(size, &entry);
        if (size.up_to_bytes != UINT64_MAX) entry["up_to_bytes"] = size.up_to_bytes;
        sizes.push_back(entry);
      }
      Json json = {{"unit", direction.name},
                   {"direction", direction.to_device ? "to_device" : "from_device"},
                   {"count", direction.all.count},
                   {"bytes", direction.all.bytes},
                   {"time", SpanJson(direction.all.time)},
                   {"link_bytes_per_s", std::round(direction.link_bytes_per_s)},
                   {"payload_ceiling_bytes_per_s", std::round(direction.ceiling_bytes_per_s)},
                   {"of_link", nullptr},
                   {"sizes", sizes}};
      rates(direction.all, &json);
      AddRatio(&json, "best_bytes_per_s", direction.best_bytes_per_s, kRateScale);
      directions.push_back(json);
    }
    devices.push_back(
        {{"device", DeviceName(report, transfers.device)}, {"directions", directions}});
  }
  return devices;
}

Json MemoryJson(const Report& report) {
  Json devices = Json::array();
  for (const analysis::DeviceMemory& memory : report.memory) {
    const auto use_json = [](const analysis::MemoryUse& use) {
      Json json{{"by", use.name},
                {"moved_bytes", use.moved_bytes},
                {"row_hits", use.row_hits},
                {"row_misses", use.row_misses}};
      AddRatio(&json, "bytes_per_s", use.bytes_per_s, kRateScale);
      if (use.of_peak.hi > 0) AddRatio(&json, "of_peak", use.of_peak, kShareScale);
      return json;
    };
    Json units = Json::array();
    for (const analysis::MemoryUse& unit : memory.units) {
      if (unit.moved_bytes > 0) units.push_back(use_json(unit));
    }
    const analysis::MemoryCounters& counted = memory.counters;
    Json counters = {{"available", counted.available}};
    if (counted.available) {
      counters["read_bytes"] = counted.read_bytes;
      counters["write_bytes"] = counted.write_bytes;
      counters["useful_bytes"] = counted.useful_bytes;
      counters["efficiency"] = Rounded(counted.Efficiency());
      counters["row_hits"] = counted.row_hits;
      counters["row_misses"] = counted.row_misses;
      counters["row_conflicts"] = counted.row_conflicts;
    }
    devices.push_back({{"device", DeviceName(report, memory.device)},
                       {"peak_bytes_per_s", memory.peak_bytes_per_s},
                       {"all", use_json(memory.all)},
                       {"units", units},
                       {"counters", counters}});
  }
  return devices;
}

Json CallsJson(const Report& report) {
  Json calls = Json::array();
  for (const analysis::CallUse& call : report.calls) {
    calls.push_back({{"call", call.name},
                     {"failed", call.failed},
                     {"open", call.open},
                     {"bytes", call.bytes},
                     {"jobs", call.jobs},
                     {"time", StatsJson(call.time)}});
  }
  return calls;
}

Json OpsJson(const Report& report, const std::vector<analysis::OpUse>& uses) {
  Json ops = Json::array();
  for (const analysis::OpUse& op : uses) {
    Json json = {{"op", op.name},
                 {"device", DeviceName(report, op.device)},
                 {"unit", op.unit},
                 {"count", op.count},
                 {"failed", op.failed},
                 {"time", SpanJson(op.time)},
                 {"longest", SpanJson(op.longest)},
                 {"held", SpanJson(op.held)},
                 {"busy_share", nullptr},
                 {"limiter", op.limiter},
                 {"limiter_time", SpanJson(op.limiter_time)},
                 {"work", op.work},
                 {"bytes", op.bytes},
                 {"memory_bytes", op.memory_bytes},
                 {"peak_share", nullptr}};
    AddRatio(&json, "share", op.share, kShareScale);
    if (op.held.hi > 0) AddRatio(&json, "busy_share", op.busy_share, kShareScale);
    AddRatio(&json, "work_per_s", op.work_per_s, kRateScale);
    if (op.work > 0 && op.peak_share.hi > 0) {
      AddRatio(&json, "peak_share", op.peak_share, kShareScale);
    }
    ops.push_back(json);
  }
  return ops;
}

Json RangesJson(const std::vector<analysis::RangeUse>& uses) {
  Json ranges = Json::array();
  for (const analysis::RangeUse& range : uses) {
    ranges.push_back({{"range", range.name},
                      {"parent", range.parent == model::kNoRow ? Json() : Json(range.parent)},
                      {"depth", range.depth},
                      {"count", range.count},
                      {"host_ns", range.host_ns},
                      {"longest_ns", range.longest_ns},
                      {"jobs", range.jobs},
                      {"commands", range.commands},
                      {"device_time", SpanJson(range.device)}});
  }
  return ranges;
}

Json ClocksJson(const Report& report) {
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
    json["bound_p50_ns"] = clock.bound_p50_ns;
    json["bound_p99_ns"] = clock.bound_p99_ns;
    json["bound_max_ns"] = clock.bound_max_ns;
    clocks.push_back(json);
  }
  return clocks;
}

Json ClockEdgesJson(const Report& report) {
  Json edges = Json::array();
  for (const analysis::ClockEdge& edge : report.clock_edges) {
    edges.push_back({{"from", DeviceName(report, edge.from)},
                     {"to", DeviceName(report, edge.to)},
                     {"orders", edge.orders},
                     {"contradicting", edge.contradicting},
                     {"least_lo_ns", edge.least.lo_ns},
                     {"least_ns", edge.least.mid_ns},
                     {"least_hi_ns", edge.least.hi_ns},
                     {"bound_p50_ns", edge.bound_p50_ns}});
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

Json IntervalJson(const model::Interval& at, bool on_device, uint64_t ticks) {
  Json json = {{"at_ns", at.mid_ns}};
  if (on_device) {
    json["ticks"] = ticks;
    json["lo_at_ns"] = at.lo_ns;
    json["hi_at_ns"] = at.hi_ns;
  }
  return json;
}

Json CausalityJson(const Report& report) {
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

Json LawsJson(const Report& report) {
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

// What was calibrated, and what follows for the run.
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

Json TracerJson(const Report& report) {
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

// Strings of a trace are UTF-8 as far as the reader could check; a bad byte must
// not stop the report.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string JsonReport(const Report& report) {
  return Dump({{"schema", "acceltrace.report"},
               {"version", kJsonVersion},
               {"trace", TraceJson(report)},
               {"devices", DevicesJson(report)},
               {"counts", CountsJson(report.counts)},
               {"verdict", VerdictJson(report)},
               {"limiter", LimiterJson(report.limiter)},
               {"advice", AdviceJson(report.advice)},
               {"breakdown", BreakdownJson(report)},
               {"utilisation", UtilisationJson(report)},
               {"latency", LatencyJson(report.latency)},
               {"transfers", TransfersJson(report)},
               {"memory", MemoryJson(report)},
               {"calls", CallsJson(report)},
               {"ops", OpsJson(report, report.ops)},
               {"op_groups", OpsJson(report, report.op_groups)},
               {"ranges", RangesJson(report.ranges)},
               {"range_groups", RangesJson(report.range_groups)},
               {"clocks", ClocksJson(report)},
               {"clock_edges", ClockEdgesJson(report)},
               {"losses", LossesJson(report.losses)},
               {"causality", CausalityJson(report)},
               {"conservation", LawsJson(report)},
               {"tracer", TracerJson(report)}});
}

std::string JsonVerify(const Report& report, const std::vector<analysis::Finding>& findings) {
  Json list = Json::array();
  for (const analysis::Finding& finding : findings) {
    list.push_back({{"kind", finding.kind}, {"text", finding.text}});
  }
  const stream::ReadStats& read = report.model->read;
  return Dump({{"schema", "acceltrace.verify"},
               {"version", kJsonVersion},
               {"ok", findings.empty()},
               {"findings", list},
               {"packets", read.packets},
               {"bytes", read.bytes},
               {"has_footer", read.has_footer},
               {"duplicate_packets", read.duplicate_packets},
               {"reordered_packets", read.reordered_packets},
               {"counts", CountsJson(report.counts)},
               {"losses", LossesJson(report.losses)},
               {"causality", CausalityJson(report)},
               {"conservation", LawsJson(report)}});
}

}  // namespace acceltrace::view
