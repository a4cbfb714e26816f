// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sources.h"

#include <algorithm>

namespace acceltrace::query {
namespace {

using Names = std::vector<std::string_view>;

struct Kind {
  const char* name;
  const char* what;  // what was not recorded
  const char* how;   // how to record it
  Names probes;      // prefixes or names of probes
  Names tables;      // tables that are empty without it
  Names sections;    // sections of the report, likewise
  size_t (*rows)(const model::Model& model);
};

size_t CounterRows(const model::Model& model) {
  size_t rows = 0;
  for (const model::Device& device : model.devices) rows += device.counters.size();
  return rows;
}

const std::vector<Kind>& Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"api",
       "API calls",
       "record the program itself (acceltrace record -- PROGRAM), without leaving api out of "
       "--probes",
       {"usdt:", "api"},
       {"api", "api_calls", "ranges", "range_totals"},
       {"calls", "ranges"},
       [](const model::Model& model) { return model.api.size(); }},
      {"driver",
       "events of the driver",
       "record with the probes of the driver (--probes driver,...)",
       {"tp:", "driver:"},
       {"host_events", "jobs", "job_stages"},
       {"latency"},
       [](const model::Model& model) { return model.host.size(); }},
      {"device",
       "records of devices",
       "record without --no-device, with device among the --probes",
       {"device:"},
       {"commands", "device_events", "jobs", "job_stages", "ops", "transfers", "units", "stalls",
        "gaps"},
       {"utilisation", "transfers", "memory", "ops", "roofline"},
       [](const model::Model& model) {
         return model.commands.size() + model.device_events.size();
       }},
      {"counters",
       "counters of devices",
       "record with counters among the --probes",
       {"counters:"},
       {"counters"},
       {},
       CounterRows},
      {"sched",
       "states of threads",
       "record with --sources sched",
       {"sched"},
       {"thread_states"},
       {"system"},
       [](const model::Model& model) { return model.system.runs.size(); }},
      {"irq",
       "interrupts",
       "record with --sources irq",
       {"irq"},
       {"interrupts"},
       {"system"},
       [](const model::Model& model) { return model.system.interrupts.size(); }},
      {"system",
       "counters of the host",
       "record with --sources pressure,memory,cpu,block,net,pcie,numa, or some of them",
       {"pressure", "memory", "cpu", "block", "net", "pcie", "numa"},
       {"system_counters"},
       {"system"},
       [](const model::Model& model) { return model.system.samples.size(); }},
      {"cgroup",
       "control groups",
       "record with --sources cgroup",
       {"cgroup"},
       {"process_groups"},
       {"system"},
       [](const model::Model& model) { return model.system.groups.size(); }},
      {"stacks",
       "stacks of API calls",
       "record with --stacks",
       {},
       {"stack_frames", "call_stacks"},
       {"sites"},
       [](const model::Model& model) { return model.stacks.of_call.size(); }},
  };
  return *kinds;
}

bool IsOf(std::string_view probe, const Kind& kind) {
  // These tracepoints belong to the scheduler and processes, not to a driver.
  if (probe.starts_with("tp:sched_") || probe.starts_with("tp:task_")) return false;
  return std::any_of(kind.probes.begin(), kind.probes.end(), [&](std::string_view name) {
    if (name.ends_with(':')) return probe.starts_with(name);
    return probe == name || (probe.starts_with(name) && probe[name.size()] == ':');
  });
}

bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<AbsentSource> AbsentSources(const model::Model& model) {
  std::vector<AbsentSource> absent;
  for (const Kind& kind : Kinds()) {
    if (kind.rows(model) > 0) continue;
    bool attached = false;
    std::string reason;
    for (const proto::Probe& probe : model.info.probes()) {
      if (!IsOf(probe.name(), kind)) continue;
      attached = attached || probe.attached();
      if (reason.empty()) reason = probe.reason();
    }
    // It was recorded, but there were no events, or none in the selected part.
    if (attached) continue;
    const std::string text = reason.empty()
                                 ? std::string(kind.what) + " were not recorded: " + kind.how
                                 : std::string(kind.what) + " could not be recorded: " + reason;
    absent.push_back({kind.name, text, kind.tables, kind.sections});
  }
  return absent;
}

std::string WhyEmpty(const std::vector<AbsentSource>& absent, std::string_view table) {
  // One of several possible sources is sufficient.
  size_t kinds = 0, found = 0;
  std::string text;
  for (const Kind& kind : Kinds()) kinds += Has(kind.tables, table);
  for (const AbsentSource& source : absent) {
    if (!Has(source.tables, table)) continue;
    ++found;
    if (text.empty()) text = source.text;
  }
  return found == kinds ? text : "";
}

}  // namespace acceltrace::query
