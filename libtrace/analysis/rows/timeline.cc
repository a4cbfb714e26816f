// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/timeline.h"

#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

const char* PointName(Point point) {
  static constexpr const char* kNames[kNumPoints] = {
      "api_begin",  "submit",     "doorbell", "device_doorbell", "fetched", "start",  "end",
      "completion", "device_irq", "irq",      "consumed",        "wake",    "api_end"};
  return kNames[point];
}

JobTimelines::JobTimelines(const model::Model& model)
    : model_(model),
      api_row_(model.jobs.api_row),
      wait_api_row_(model.jobs.wait_api_row),
      on_device_(model.jobs.on_device),
      has_irq_(model.jobs.has_irq),
      submit_ns_(model.jobs.submit_ns),
      doorbell_ns_(model.jobs.doorbell_ns),
      irq_ns_(model.jobs.irq_ns),
      complete_ns_(model.jobs.complete_ns),
      wake_ns_(model.jobs.wake_ns),
      doorbell_(model.jobs.doorbell),
      fetched_(model.jobs.fetched),
      first_start_(model.jobs.first_start),
      last_end_(model.jobs.last_end),
      completion_(model.jobs.completion),
      irq_(model.jobs.irq),
      began_before_(model.api.began_before),
      open_(model.api.open),
      begin_ns_(model.api.begin_ns),
      end_ns_(model.api.end_ns) {}

void JobTimelines::SeeHost(Point point, int64_t ns) {
  if (ns == model::kNoTime) return;
  line_.seen[point] = true;
  line_.at[point] = At(ns);
}

void JobTimelines::SeeDevice(Point point, size_t job, MarkCursor* times) {
  const Mark mark = (*times)[job];
  line_.seen[point] = true;
  line_.mark[point] = mark;
  line_.at[point] = mark.host;
  line_.ticks[point] = mark.ticks;
  line_.epoch[point] = mark.epoch;
}

const Timeline& JobTimelines::Of(size_t job) {
  line_ = {};
  const uint32_t call = api_row_[job];
  if (call != model::kNoRow && !began_before_[call]) SeeHost(kApiBegin, begin_ns_[call]);
  SeeHost(kSubmit, submit_ns_[job]);
  SeeHost(kDoorbell, doorbell_ns_[job]);
  if (on_device_[job]) {
    SeeDevice(kDeviceDoorbell, job, &doorbell_);
    SeeDevice(kFetched, job, &fetched_);
    SeeDevice(kStart, job, &first_start_);
    SeeDevice(kEnd, job, &last_end_);
    SeeDevice(kCompletion, job, &completion_);
    if (has_irq_[job]) SeeDevice(kDeviceIrq, job, &irq_);
  }
  SeeHost(kIrq, irq_ns_[job]);
  SeeHost(kConsumed, complete_ns_[job]);
  SeeHost(kWake, wake_ns_[job]);
  const uint32_t waiter = wait_api_row_[job];
  if (waiter != model::kNoRow && !open_[waiter]) SeeHost(kApiEnd, end_ns_[waiter]);
  return line_;
}

}  // namespace acceltrace::analysis
