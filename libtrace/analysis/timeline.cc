// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/timeline.h"

#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

const char* PointName(Point point) {
  static constexpr const char* kNames[kNumPoints] = {
      "api_begin",  "submit",     "doorbell", "device_doorbell", "fetched", "start",  "end",
      "completion", "device_irq", "irq",      "consumed",        "wake",    "api_end"};
  return kNames[point];
}

Timeline JobTimeline(const model::Model& model, size_t job) {
  Timeline timeline;
  const model::Jobs& jobs = model.jobs;
  const auto host = [&](Point point, int64_t ns) {
    if (ns == model::kNoTime) return;
    timeline.seen[point] = true;
    timeline.at[point] = At(ns);
  };
  const auto device = [&](Point point, const model::DeviceTimes& times) {
    timeline.seen[point] = true;
    timeline.mark[point] = MarkOf(times, job);
    timeline.at[point] = timeline.mark[point].host;
    timeline.ticks[point] = timeline.mark[point].ticks;
    timeline.epoch[point] = times.epoch[job];
  };
  const uint32_t call = jobs.api_row[job];
  if (call != model::kNoRow && !model.api.began_before[call]) {
    host(kApiBegin, model.api.begin_ns[call]);
  }
  host(kSubmit, jobs.submit_ns[job]);
  host(kDoorbell, jobs.doorbell_ns[job]);
  if (jobs.on_device[job]) {
    device(kDeviceDoorbell, jobs.doorbell);
    device(kFetched, jobs.fetched);
    device(kStart, jobs.first_start);
    device(kEnd, jobs.last_end);
    device(kCompletion, jobs.completion);
    if (jobs.has_irq[job]) device(kDeviceIrq, jobs.irq);
  }
  host(kIrq, jobs.irq_ns[job]);
  host(kConsumed, jobs.complete_ns[job]);
  host(kWake, jobs.wake_ns[job]);
  if (jobs.wait_api_row[job] != model::kNoRow && !model.api.open[jobs.wait_api_row[job]]) {
    host(kApiEnd, model.api.end_ns[jobs.wait_api_row[job]]);
  }
  return timeline;
}

}  // namespace acceltrace::analysis
