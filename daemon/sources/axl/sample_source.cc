// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/sample_source.h"

#include "daemon/base/host_info.h"

namespace acceltrace::daemon {
namespace {

constexpr int kBurst = 32;
// The same number of attempts that the driver makes for a sample. The first ones have cold caches;
// eight narrowed intervals by 1 % more than four, four by 6 to 20 % more than two.
constexpr int kLatches = 4;

}  // namespace

bool SampleSource::SampleClock() {
  ClockSample sample;
  if (!device_->SampleClock(&sample).ok() || sample.host_after_ns < sample.host_before_ns) {
    ++failed_;
    return false;
  }
  ++taken_;
  handler_->OnClock(device_->number(), sample);
  watch_.Add(sample);
  return true;
}

// A posted write latches the clock, a read fetches it. The write often takes less time than a
// read's request, and bounds the clock from that side (docs/clocks.md).
bool SampleSource::LatchClock() {
  CounterSnapshot latch;
  if (!device_->LatchClock(&latch).ok() || latch.host_after_ns < latch.host_before_ns) {
    ++failed_;
    return false;
  }
  ++taken_;
  handler_->OnLatch(device_->number(), latch);
  return true;
}

bool SampleSource::Tick(bool latch) {
  // Measured as CPU time of this thread: preemption is no cost for others.
  const uint64_t begin_cpu_ns = ThreadCpuNs();
  const bool good = SampleClock();
  const uint64_t sampled_cpu_ns = ThreadCpuNs();
  latch = latch && good && watch_.steady();
  for (int i = 0; latch && i < kLatches; ++i) {
    if (!LatchClock()) break;  // samples alone are sufficient
  }
  const auto sample_ns = static_cast<int64_t>(sampled_cpu_ns - begin_cpu_ns);
  const auto latches_ns = static_cast<int64_t>(latch ? ThreadCpuNs() - sampled_cpu_ns : 0);
  // Uses our own clock: whatever the sample says, the next one must not follow at once.
  next_ns_ = NextMultiple(MonotonicNs(), watch_.Pause(sample_ns, latches_ns));
  return good;
}

void SampleSource::SampleCounters() {
  CounterSnapshot snapshot;
  if (!device_->ReadCounters(&snapshot).ok() || snapshot.host_after_ns < snapshot.host_before_ns) {
    ++failed_;
    return;
  }
  ++taken_;
  handler_->OnCounters(device_->number(), snapshot);
}

void SampleSource::Burst() {
  bool there = clocks_;  // a device that is gone will not return
  for (int i = 1; there && i < kBurst; ++i) there = Tick(false);
  if (there) Tick(true);
  if (counters_) SampleCounters();
}

Status SampleSource::Start() {
  // The first sample shows whether the device responds at all.
  ClockSample sample;
  if (clocks_) {
    if (Status status = device_->SampleClock(&sample); !status.ok()) return status;
    handler_->OnProbe("clock:" + device_->name(), true, "");
  }
  CounterSnapshot snapshot;
  if (counters_) {
    if (Status status = device_->ReadCounters(&snapshot); !status.ok()) return status;
    handler_->OnProbe("counters:" + device_->name(), true, "");
  }
  return {};
}

Pace SampleSource::Drain(int64_t now_ns) {
  if (!started_) {
    started_ = true;
    Burst();
  } else if (clocks_ && now_ns >= next_ns_ && !Tick(true)) {
    next_ns_ = now_ns + ClockWatch::kSteadyNs;
  }
  Pace pace;
  if (clocks_) pace.next_ns = next_ns_;
  return pace;
}

std::vector<Hop> SampleSource::Hops() {
  return {{"samples/" + device_->name(), taken_ + failed_, taken_, 0, failed_, kSessionHop}};
}

void SampleSource::Stop() {
  Burst();
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
