// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/sample_source.h"

#include "daemon/sources/host_info.h"

namespace acceltrace::daemon {
namespace {

constexpr int kBurst = 32;

}  // namespace

bool SampleSource::SampleClock() {
  axl_clock_sample sample;
  // Of this thread's own time: while it is preempted it costs nobody anything.
  const uint64_t begin_cpu_ns = ThreadCpuNs();
  if (!device_->SampleClock(&sample).ok() || sample.host_after_ns < sample.host_before_ns) {
    ++failed_;
    return false;
  }
  ++taken_;
  handler_->OnClock(device_->number(), sample);
  // By our own clock: whatever the sample says, the next one is not at once.
  const auto cost_ns = static_cast<int64_t>(ThreadCpuNs() - begin_cpu_ns);
  next_ns_ = NextMultiple(MonotonicNs(), watch_.Next(sample, cost_ns));
  return true;
}

void SampleSource::SampleCounters() {
  CounterRow row;
  if (!device_->ReadCounters(&row).ok() || row.host_after_ns < row.host_before_ns) {
    ++failed_;
    return;
  }
  ++taken_;
  handler_->OnCounters(device_->number(), row);
}

void SampleSource::Burst() {
  for (int i = 0; clocks_ && i < kBurst; ++i) {
    if (!SampleClock()) break;  // a device that is gone will not come back
  }
  if (counters_) SampleCounters();
}

Status SampleSource::Start() {
  // The first sample tells whether the device answers at all.
  axl_clock_sample sample;
  if (clocks_) {
    if (Status status = device_->SampleClock(&sample); !status.ok()) return status;
    handler_->OnProbe("clock:" + device_->name(), true, "");
  }
  CounterRow row;
  if (counters_) {
    if (Status status = device_->ReadCounters(&row); !status.ok()) return status;
    handler_->OnProbe("counters:" + device_->name(), true, "");
  }
  return {};
}

Pace SampleSource::Drain(int64_t now_ns) {
  if (!started_) {
    started_ = true;
    Burst();
  } else if (clocks_ && now_ns >= next_ns_ && !SampleClock()) {
    next_ns_ = now_ns + ClockWatch::kSteadyNs;
  }
  Pace pace;
  if (clocks_) pace.next_ns = next_ns_;
  return pace;
}

void SampleSource::Stop() {
  Burst();
  handler_->OnHop({"samples/" + device_->name(), taken_ + failed_, taken_, 0, failed_});
}

}  // namespace acceltrace::daemon
