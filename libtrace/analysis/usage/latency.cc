// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/latency.h"

#include <memory>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/timeline.h"

namespace acceltrace::analysis {
namespace {

struct StageDefinition {
  const char* name;
  const char* text;
  Where where;
  Point from, to;
};

constexpr StageDefinition kStages[] = {
    {"api_to_submit", "runtime: API call to submit", Where::kHost, kApiBegin, kSubmit},
    {"submit_to_doorbell", "driver: submit to doorbell", Where::kHost, kSubmit, kDoorbell},
    {"doorbell_to_device", "bus: doorbell to device", Where::kBus, kDoorbell, kDeviceDoorbell},
    {"doorbell_to_fetch", "device: doorbell to first fetch", Where::kDevice, kDeviceDoorbell,
     kFetched},
    {"fetch_to_start", "device: fetch to first start", Where::kDevice, kFetched, kStart},
    {"start_to_end", "device: first start to last end", Where::kDevice, kStart, kEnd},
    {"end_to_completion", "device: last end to completion write", Where::kDevice, kEnd,
     kCompletion},
    {"completion_to_interrupt", "device: completion write to interrupt", Where::kDevice,
     kCompletion, kDeviceIrq},
    {"interrupt_to_handler", "bus, CPU: interrupt to handler", Where::kBus, kDeviceIrq, kIrq},
    {"handler_to_consumed", "driver: handler to completion consumed", Where::kHost, kIrq,
     kConsumed},
    {"consumed_to_wake", "kernel: completion to waiter running", Where::kHost, kConsumed, kWake},
    {"wake_to_return", "runtime: wake-up to API return", Where::kHost, kWake, kApiEnd},
    // All that is known of jobs that only the host recorded.
    {"submit_to_consumed", "unseen device: submit to completion consumed", Where::kHost, kSubmit,
     kConsumed},
};
constexpr size_t kUnseen = std::size(kStages) - 1;

}  // namespace

void StagesOfJob(JobTimelines* lines, const std::vector<Durations>& times, size_t job,
                 JobStages* stages) {
  const model::Jobs& jobs = lines->model().jobs;
  const Timeline& line = lines->Of(job);
  const Durations& time = times[jobs.device[job]];
  JobStages& found = *stages;
  found.waited = line.seen[kWake];
  found.blocked = jobs.wait_ns[job] != model::kNoTime && line.seen[kConsumed] &&
                  jobs.wait_ns[job] <= jobs.complete_ns[job];
  found.stages.assign(std::size(kStages), std::nullopt);
  found.end_to_end = found.until_returned = std::nullopt;
  for (size_t s = 0; s < std::size(kStages); ++s) {
    const auto& [name, text, where, from, to] = kStages[s];
    if (!line.seen[from] || !line.seen[to]) continue;
    if ((to == kWake || from == kWake) && !found.blocked) continue;
    if (s == kUnseen && jobs.on_device[job]) continue;
    found.stages[s] = where == Where::kDevice ? time.Between(line.mark[from], line.mark[to])
                                              : Lapse(line.at[from], line.at[to]);
  }
  found.whole =
      line.seen[kSubmit] && line.seen[kDoorbell] && line.seen[kCompletion] && line.seen[kConsumed];
  if (found.whole && line.seen[kApiBegin]) {
    found.end_to_end = Lapse(line.at[kApiBegin], line.at[kConsumed]);
    if (found.blocked && line.seen[kApiEnd]) {
      found.until_returned = Lapse(line.at[kApiBegin], line.at[kApiEnd]);
    }
  }
}

std::vector<std::string> StageNames() {
  std::vector<std::string> names;
  for (const StageDefinition& stage : kStages) names.emplace_back(stage.name);
  return names;
}

Latency ComputeLatency(const model::Model& model) {
  Latency latency;
  latency.jobs = model.jobs.size();
  std::vector<std::vector<Span>> spans(std::size(kStages));
  std::vector<Span> end_to_end, until_returned;
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  const auto lines = std::make_unique<JobTimelines>(model);
  JobStages found;
  for (size_t job = 0; job < model.jobs.size(); ++job) {
    StagesOfJob(lines.get(), times, job, &found);
    for (size_t s = 0; s < spans.size(); ++s) {
      if (found.stages[s]) spans[s].push_back(*found.stages[s]);
    }
    latency.whole += found.whole;
    latency.waits += found.waited;
    latency.blocked += found.blocked;
    if (found.end_to_end) end_to_end.push_back(*found.end_to_end);
    if (found.until_returned) until_returned.push_back(*found.until_returned);
  }
  for (size_t s = 0; s < std::size(kStages); ++s) {
    latency.stages.push_back(
        {kStages[s].name, kStages[s].text, kStages[s].where, Summarise(spans[s])});
  }
  latency.end_to_end = Summarise(end_to_end);
  latency.until_returned = Summarise(until_returned);
  return latency;
}

}  // namespace acceltrace::analysis
