// SPDX-License-Identifier: Apache-2.0
//
// Batches of what a device recorded or was asked. Times stay raw ticks.
#include "daemon/session/batches.h"

namespace acceltrace::daemon {
namespace {

using EventKind = proto::DeviceEventBatch;

// enum axl_event to DeviceEventBatch.Kind.
uint32_t KindOf(uint32_t event) {
  switch (event) {
    case AXL_EV_LINK:
      return EventKind::KIND_LINK;
    case AXL_EV_CLOCK:
      return EventKind::KIND_CLOCK;
    case AXL_EV_THROTTLE:
      return EventKind::KIND_THROTTLE;
    case AXL_EV_ECC:
      return EventKind::KIND_MEMORY_ERROR;
    case AXL_EV_CTX_ERROR:
      return EventKind::KIND_CONTEXT_ERROR;
    case AXL_EV_RESET:
      return EventKind::KIND_RESET;
    default:
      return EventKind::KIND_UNKNOWN;
  }
}

// later - earlier on a wrapping clock, negative if later is before earlier.
int64_t TicksAfter(uint64_t later, uint64_t earlier, uint64_t mask) {
  const uint64_t forward = (later - earlier) & mask;
  if (forward <= mask / 2) return static_cast<int64_t>(forward);
  return -static_cast<int64_t>((earlier - later) & mask);
}

}  // namespace

void DeviceEventBatch::AddRow(const axl_rec_head& head, uint32_t kind, uint64_t arg0, uint64_t arg1,
                              uint64_t arg2) {
  proto::DeviceEventBatch* events = packet().mutable_device_events();
  events->set_device(device_);
  events->add_kind(kind);
  time_.Append(uint64_t{head.time}, events->mutable_time_ticks_delta());
  record_.Append(uint64_t{head.sequence}, events->mutable_record_delta());
  events->add_arg0(arg0);
  events->add_arg1(arg1);
  events->add_arg2(arg2);
  Count(0, 1);
}

void DeviceEventBatch::Add(const axl_rec_event& event) {
  AddRow(event.h, KindOf(event.event), event.arg[0], event.arg[1], event.arg[2]);
}

void DeviceEventBatch::Add(const axl_rec_doorbell& doorbell) {
  AddRow(doorbell.h, EventKind::KIND_DOORBELL, doorbell.tail, doorbell.previous_tail,
         doorbell.h.queue);
}

FinishedBatch DeviceEventBatch::Take() {
  time_ = {};
  record_ = {};
  return TakeCurrent();
}

void OthersBatch::Add(const axl_rec_cmd& cmd) {
  if (cmd.h.engine >= sums_.size()) return;
  const bool in_flight = in_flight_[cmd.h.engine].test(cmd.h.queue);
  if (in_flight) {
    Cut();
    in_flight_[cmd.h.engine].reset(cmd.h.queue);
  }
  Sum& sum = sums_[cmd.h.engine];
  if (sum.commands == 0 || TicksAfter(cmd.head, sum.first_head, tick_mask_) < 0) {
    sum.first_head = cmd.head;
  }
  if (sum.commands == 0 || TicksAfter(cmd.end, sum.last_end, tick_mask_) > 0) {
    sum.last_end = cmd.end;
  }
  ++sum.commands;
  sum.failed += cmd.status != 0;
  sum.held += (cmd.end - cmd.head) & tick_mask_;
  sum.bytes += cmd.bytes;
  for (size_t s = 0; s < AXL_NUM_STALLS; ++s) sum.stall[s] += cmd.stall[s];
  if (!in_flight) return;
  // Its head is recorded relative to its start; the time of fetching was read, and is not later.
  sum.first_head = cmd.fetched;
  Cut();
}

void OthersBatch::ClockSet() {
  Cut();
  for (auto& queues : in_flight_) queues.set();
}

void OthersBatch::Cut() {
  for (uint32_t unit = 0; unit < sums_.size(); ++unit) {
    const Sum& sum = sums_[unit];
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
  }
  sums_ = {};
}

FinishedBatch OthersBatch::Take() {
  first_head_ = {};
  return TakeCurrent();
}

void CounterBatch::Add(const CounterRow& row, uint64_t weight) {
  proto::CounterBatch* counters = packet().mutable_counters();
  if (empty()) {
    counters->set_device(device_);
    for (uint32_t i = 0; i < num_counters_; ++i) counters->add_counter(i);
  }
  time_.Append(row.ticks, counters->mutable_time_ticks_delta());
  for (uint32_t i = 0; i < num_counters_; ++i) {
    counters->add_value_delta(static_cast<int64_t>(row.value[i] - previous_[i]));
    previous_[i] = row.value[i];
  }
  if (bracketed_) {
    before_.Append(row.host_before_ns, counters->mutable_host_before_ns_delta());
    after_.Append(row.host_after_ns, counters->mutable_host_after_ns_delta());
  }
  Count(bracketed_ ? row.host_before_ns : 0, weight);
}

FinishedBatch CounterBatch::Take() {
  time_ = {};
  before_ = {};
  after_ = {};
  previous_ = {};
  return TakeCurrent();
}

void ClockBatch::Add(const axl_clock_sample& sample) {
  proto::ClockBatch* clocks = packet().mutable_clocks();
  const bool ptm = (sample.flags & AXL_CLOCK_PTM) != 0;
  clocks->set_device(device_);
  before_.Append(uint64_t{sample.host_before_ns}, clocks->mutable_host_before_ns_delta());
  clocks->add_host_width_ns(sample.host_after_ns - sample.host_before_ns);
  ticks_.Append(uint64_t{sample.device_ticks}, clocks->mutable_device_ticks_delta());
  tsc_.Append(uint64_t{sample.tsc_before}, clocks->mutable_tsc_before_delta());
  clocks->add_tsc_width(sample.tsc_after - sample.tsc_before);
  ptm_ticks_.Append(ptm ? uint64_t{sample.ptm_device_ticks} : 0,
                    clocks->mutable_ptm_device_ticks_delta());
  ptm_host_.Append(ptm ? uint64_t{sample.ptm_host_ns} : 0, clocks->mutable_ptm_host_ns_delta());
  ptm_tsc_.Append(ptm ? uint64_t{sample.ptm_tsc} : 0, clocks->mutable_ptm_tsc_delta());
  clocks->add_has_ptm(ptm ? 1 : 0);
  Count(static_cast<int64_t>(sample.host_before_ns), 1);
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
