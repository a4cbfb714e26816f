// SPDX-License-Identifier: Apache-2.0
//
// Converts the report's threads and host activity to JSON.
#include <algorithm>
#include <span>

#include "libtrace/model/tables/container.h"
#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {
namespace {

using analysis::Report;
using analysis::ThreadState;

constexpr size_t kMaxWaits = 16;
std::span<const analysis::SystemCounterUse> FirstCounters(const Report& report) {
  const auto& counters = report.system.counters;
  return {counters.data(), std::min(counters.size(), analysis::kMostListed)};
}

Json ThreadsJson(const Report& report) {
  Json threads = Json::array();
  const model::Model& model = *report.model;
  for (const analysis::ThreadUse& use : report.system.threads.first) {
    Json waits = Json::array(), wakers = Json::array();
    for (size_t i = 0; i < std::min(kMaxWaits, use.waits.size()); ++i) {
      const analysis::WaitUse& wait = use.waits[i];
      const std::string& name = model.strings.Get(wait.name);
      waits.push_back({{"in", name.empty() ? Json() : Json(name)},
                       {"state", analysis::ThreadStateName(wait.state)},
                       {"count", wait.count},
                       {"total_ns", wait.total_ns},
                       {"longest_ns", wait.longest_ns}});
    }
    for (size_t i = 0; i < std::min(kMaxWaits, use.wakers.size()); ++i) {
      const analysis::WakerUse& waker = use.wakers[i];
      wakers.push_back({{"interrupt", waker.interrupt},
                        {"pid", waker.interrupt ? Json() : Json(waker.pid)},
                        {"tid", waker.interrupt ? Json() : Json(waker.tid)},
                        {"count", waker.count}});
    }
    threads.push_back({{"pid", use.pid},
                       {"tid", use.tid},
                       {"name", model.ThreadName(use.pid, use.tid)},
                       {"begin_ns", use.begin_ns},
                       {"end_ns", use.end_ns},
                       {"running_ns", use.Ns(ThreadState::kRunning)},
                       {"runnable_ns", use.Ns(ThreadState::kRunnable)},
                       {"sleeping_ns", use.Ns(ThreadState::kSleeping)},
                       {"blocked_ns", use.Ns(ThreadState::kBlocked)},
                       {"stopped_ns", use.Ns(ThreadState::kStopped)},
                       {"unknown_ns", use.Ns(ThreadState::kUnknown)},
                       {"runs", use.runs},
                       {"longest_runnable_ns", use.longest_runnable_ns},
                       {"longest_runnable_at_ns", use.longest_runnable_at_ns},
                       {"cpus", use.cpus},
                       {"charged_ns", use.charged_ns},
                       {"minor_faults", use.minor_faults},
                       {"major_faults", use.major_faults},
                       {"migrations", use.migrations},
                       {"voluntary_switches", use.voluntary},
                       {"involuntary_switches", use.involuntary},
                       {"waits", waits},
                       {"wakers", wakers}});
  }
  return threads;
}

Json InterruptsJson(const Report& report) {
  Json interrupts = Json::array();
  for (const analysis::InterruptUse& use : report.system.interrupts.first) {
    interrupts.push_back(
        {{"kind", use.kind == proto::InterruptBatch::KIND_SOFT ? "soft" : "hard"},
         {"number", use.number},
         {"name", report.model->strings.Get(use.name)},
         {"device", use.device == model::kNoRow ? Json() : Json(DeviceName(report, use.device))},
         {"count", use.count},
         {"total_ns", use.total_ns},
         {"longest_ns", use.longest_ns},
         {"cpus", use.cpus},
         {"hits", use.hits},
         {"hit_ns", use.hit_ns}});
  }
  return interrupts;
}

Json CountersJson(const Report& report) {
  Json counters = Json::array();
  const model::StringTable& strings = report.model->strings;
  for (const analysis::SystemCounterUse& use : FirstCounters(report)) {
    const model::SystemCounter& counter = report.model->system.counters[use.counter];
    counters.push_back({{"source", strings.Get(counter.source)},
                        {"object", strings.Get(counter.object)},
                        {"name", strings.Get(counter.name)},
                        {"unit", strings.Get(counter.unit)},
                        {"total", counter.total},
                        {"samples", use.samples},
                        {"first", use.first},
                        {"last", use.last},
                        {"least", use.least},
                        {"most", use.most},
                        {"grown", counter.total ? Json(use.grown) : Json()}});
  }
  return counters;
}

Json GroupsJson(const Report& report) {
  Json groups = Json::array();
  for (const analysis::GroupUse& use : report.system.groups.first) {
    const std::string& group = report.model->strings.Get(use.group);
    const std::string container = model::ContainerOf(group);
    groups.push_back({{"group", use.group == 0 ? Json() : Json(group)},
                      {"container", container.empty() ? Json() : Json(container)},
                      {"processes", use.processes},
                      {"jobs", use.jobs},
                      {"commands", use.commands},
                      {"device_ns", Rounded(use.device_ns)}});
  }
  return groups;
}

}  // namespace

Json SystemJson(const Report& report) {
  const analysis::SystemUse& system = report.system;
  return {{"threads", ThreadsJson(report)},
          {"interrupts", InterruptsJson(report)},
          {"counters", CountersJson(report)},
          {"groups", GroupsJson(report)},
          {"left_out",
           {{"threads", system.threads.left_out()},
            {"interrupts", system.interrupts.left_out()},
            {"counters", system.counters.size() - FirstCounters(report).size()},
            {"groups", system.groups.left_out()}}}};
}

}  // namespace acceltrace::view
