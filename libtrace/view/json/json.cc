// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json/json.h"

#include <cmath>

#include "libtrace/view/json/json_parts.h"
#include "libtrace/view/json/path_json.h"

namespace acceltrace::view {
namespace {

// A device may have two causes of the same name, which both need a member.
std::string Unused(const Json& object, std::string name) {
  while (object.contains(name)) name += "_2";
  return name;
}

using analysis::Report;

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
        {"lo_ns", NsJson(verdict.possible[c].lo_ns)}, {"hi_ns", NsJson(verdict.possible[c].hi_ns)}};
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
  for (const auto& [name, span] : breakdown.limiters) {
    limiters[Unused(limiters, name)] = SpanJson(span);
  }
  Json json = {{"run_ns", breakdown.RunNs()}};
  if (breakdown.run.lo_ns != breakdown.run.hi_ns) {
    json["run_lo_ns"] = BoundJson(breakdown.run.lo_ns, breakdown.run.mid_ns);
    json["run_hi_ns"] = BoundJson(breakdown.run.hi_ns, breakdown.run.mid_ns);
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
    const std::string name = Unused(stalls, device.about.stalls(static_cast<int>(s)));
    stalls[name] = check.stall_ticks[s];
    recorded[name] = check.commands_stall_ticks[s];
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
        stalls[Unused(stalls, device.about.stalls(static_cast<int>(s)))] =
            ShareJson(unit.stalls[s], unit.stall_shares[s]);
      }
      Json limiters = Json::object();
      for (size_t l = 0; l < unit.limiters.size(); ++l) {
        if (unit.limiters[l] > 0) {
          limiters[Unused(limiters, device.about.limiters(static_cast<int>(l)))] = unit.limiters[l];
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

Json OpsJson(const Report& report, const std::vector<analysis::OpUse>& uses,
             const std::vector<analysis::PartLimit>& limits) {
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
                 {"limit", PartLimitJson(limits, ops.size())},
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

Json PhasesJson(const Report& report) {
  Json phases = Json::array();
  for (const analysis::Phase& phase : report.phases.list) {
    phases.push_back({{"phase", analysis::PhaseName(phase.kind)},
                      {"begin_ns", phase.begin_ns - report.breakdown.begin_ns},
                      {"end_ns", phase.end_ns - report.breakdown.begin_ns},
                      {"rounds", phase.rounds},
                      {"jobs", phase.jobs},
                      {"matrix_work", phase.matrix_work},
                      {"matrix_commands", phase.matrix_commands},
                      {"bytes_in", phase.bytes_in},
                      {"bytes_out", phase.bytes_out},
                      {"limit", PartLimitJson(report.part_limits.phases, phases.size())}});
  }
  return phases;
}

// The reader has checked strings for UTF-8 as far as it could; an invalid byte must not prevent the
// report.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string JsonReport(const Report& report) {
  Json all = {{"schema", "acceltrace.report"},
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
              {"ops", OpsJson(report, report.ops, report.part_limits.ops)},
              {"op_groups", OpsJson(report, report.op_groups, report.part_limits.op_groups)},
              {"ranges", RangesJson(report.ranges, report.part_limits.ranges)},
              {"range_groups", RangesJson(report.range_groups, report.part_limits.range_groups)},
              {"slow_ranges", SlowRangesJson(report.slow_ranges)},
              {"phases", PhasesJson(report)},
              {"roofline", RooflineJson(report)},
              {"system", SystemJson(report)},
              {"clocks", ClocksJson(report)},
              {"clock_edges", ClockEdgesJson(report)},
              {"losses", LossesJson(report.losses)},
              {"causality", CausalityJson(report)},
              {"conservation", LawsJson(report)},
              {"tracer", TracerJson(report)}};
  if (!report.model->stacks.of_call.empty()) all["call_sites"] = CallSitesJson(report);
  return Dump(all);
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
