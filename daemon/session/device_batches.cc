// SPDX-License-Identifier: Apache-2.0
//
// Batches of a device's records and readings. Times remain raw ticks.
#include <algorithm>

#include "daemon/session/batches.h"

namespace acceltrace::daemon {
namespace {

// Returns later - earlier on a clock that wraps, negative if `later` is before `earlier`.
int64_t TicksAfter(uint64_t later, uint64_t earlier, uint64_t mask) {
  const uint64_t forward = (later - earlier) & mask;
  if (forward <= mask / 2) return static_cast<int64_t>(forward);
  return -static_cast<int64_t>((earlier - later) & mask);
}

void AddValue(uint64_t value, uint64_t* previous, proto::CounterBatch* counters) {
  counters->add_value_delta(static_cast<int64_t>(value - *previous));
  *previous = value;
}

}  // namespace

void DeviceEventBatch::Add(const DeviceEvent& event) {
  proto::DeviceEventBatch* events = packet().mutable_device_events();
  events->set_device(device_);
  events->add_kind(event.kind);
  time_.Append(event.ticks, events->mutable_time_ticks_delta());
  record_.Append(uint64_t{event.record}, events->mutable_record_delta());
  events->add_arg0(event.arg0);
  events->add_arg1(event.arg1);
  events->add_arg2(event.arg2);
  Count(0, 1);
}

FinishedBatch DeviceEventBatch::Take() {
  time_ = {};
  record_ = {};
  return TakeCurrent();
}

void OthersBatch::Add(const DeviceCommand& command) {
  if (command.unit >= sums_.size() || command.queue >= kMaxQueues) return;
  const bool in_flight = in_flight_[command.unit].test(command.queue);
  if (in_flight) {
    Cut();
    in_flight_[command.unit].reset(command.queue);
  }
  Sum& sum = sums_[command.unit];
  if (sum.commands == 0 || TicksAfter(command.head_ticks, sum.first_head, tick_mask_) < 0) {
    sum.first_head = command.head_ticks;
  }
  if (sum.commands == 0 || TicksAfter(command.end_ticks, sum.last_end, tick_mask_) > 0) {
    sum.last_end = command.end_ticks;
  }
  ++sum.commands;
  sum.failed += command.failed;
  sum.held += (command.end_ticks - command.head_ticks) & tick_mask_;
  sum.bytes += command.bytes;
  const size_t stalls = std::min(sum.stall.size(), command.stall_ticks.size());
  for (size_t s = 0; s < stalls; ++s) sum.stall[s] += command.stall_ticks[s];
  if (!in_flight) return;
  // Its head is recorded relative to its start; the time of fetching was read, and is not later.
  sum.first_head = command.fetched_ticks;
  Cut();
}

void OthersBatch::ClockSet() {
  Cut();
  for (auto& queues : in_flight_) queues.set();
}

void OthersBatch::Cut() {
  for (uint32_t unit = 0; unit < sums_.size(); ++unit) {
    Sum& sum = sums_[unit];
    if (sum.commands == 0) continue;
    proto::OthersBatch* others = packet().mutable_others();
    others->set_device(device_);
    first_head_.Append(sum.first_head, others->mutable_first_head_ticks_delta());
    others->add_last_end_ticks_after((sum.last_end - sum.first_head) & tick_mask_);
    others->add_unit(unit);
    others->add_commands(sum.commands);
    others->add_held_ticks(sum.held);
    others->add_bytes(sum.bytes);
    others->add_failed(sum.failed);
    for (const uint64_t stall : sum.stall) others->add_stall_ticks(stall);
    Count(0, 0);
    sum = Sum(sum.stall.size());
  }
}

FinishedBatch OthersBatch::Take() {
  first_head_ = {};
  return TakeCurrent();
}

void CounterBatch::Add(const CounterSnapshot& snapshot, uint64_t weight) {
  proto::CounterBatch* counters = packet().mutable_counters();
  if (empty()) {
    counters->set_device(device_);
    for (uint32_t i = 0; i < previous_.size(); ++i) counters->add_counter(i);
  }
  time_.Append(snapshot.ticks, counters->mutable_time_ticks_delta());
  // Counters that were not read are 0.
  const size_t known = std::min(previous_.size(), snapshot.values.size());
  for (size_t i = 0; i < known; ++i) AddValue(snapshot.values[i], &previous_[i], counters);
  for (size_t i = known; i < previous_.size(); ++i) AddValue(0, &previous_[i], counters);
  if (bracketed_) {
    before_.Append(snapshot.host_before_ns, counters->mutable_host_before_ns_delta());
    after_.Append(snapshot.host_after_ns, counters->mutable_host_after_ns_delta());
  }
  Count(bracketed_ ? snapshot.host_before_ns : 0, weight);
}

FinishedBatch CounterBatch::Take() {
  time_ = {};
  before_ = {};
  after_ = {};
  std::fill(previous_.begin(), previous_.end(), 0);
  return TakeCurrent();
}

void ClockBatch::Add(const ClockSample& sample) {
  proto::ClockBatch* clocks = packet().mutable_clocks();
  clocks->set_device(device_);
  before_.Append(sample.host_before_ns, clocks->mutable_host_before_ns_delta());
  clocks->add_host_width_ns(static_cast<uint64_t>(sample.host_after_ns - sample.host_before_ns));
  ticks_.Append(sample.device_ticks, clocks->mutable_device_ticks_delta());
  tsc_.Append(sample.tsc_before, clocks->mutable_tsc_before_delta());
  clocks->add_tsc_width(sample.tsc_after - sample.tsc_before);
  ptm_ticks_.Append(sample.ptm_device_ticks, clocks->mutable_ptm_device_ticks_delta());
  ptm_host_.Append(sample.ptm_host_ns, clocks->mutable_ptm_host_ns_delta());
  ptm_tsc_.Append(sample.ptm_tsc, clocks->mutable_ptm_tsc_delta());
  clocks->add_has_ptm(sample.has_ptm ? 1 : 0);
  Count(sample.host_before_ns, 1);
}

FinishedBatch ClockBatch::Take() {
  before_ = {};
  ticks_ = {};
  tsc_ = {};
  ptm_ticks_ = {};
  ptm_host_ = {};
  ptm_tsc_ = {};
  return TakeCurrent();
}

}  // namespace acceltrace::daemon
