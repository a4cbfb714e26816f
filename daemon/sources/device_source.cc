// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/device_source.h"

namespace acceltrace::daemon {
namespace {

constexpr char kRingHop[] = "device-ring/";
constexpr char kQueueHop[] = "session-queue/";

}  // namespace

Status DeviceSource::Start() {
  auto ring = RingHub::Subscribe(device_, counter_period_ns_);
  if (!ring.ok()) return ring.status();
  ring_ = std::move(ring).value();
  handler_->OnProbe("device:" + device_->name(), true, "");
  return {};
}

void DeviceSource::TellLoss(uint64_t count, uint64_t first_ticks, uint64_t last_ticks,
                            const char* hop) {
  Loss loss;
  loss.hop = hop + device_->name();
  loss.count = count;
  loss.first = static_cast<int64_t>(first_ticks);
  loss.last = static_cast<int64_t>(last_ticks);
  loss.in_ticks = true;
  loss.device = device_->number();
  handler_->OnLoss(loss);
}

void DeviceSource::Handle(const axl_record& record) {
  if (record.h.type == AXL_REC_LOSS) {
    loss_dated_ += record.loss.lost;
    TellLoss(record.loss.lost, record.loss.first_time, record.loss.last_time, kRingHop);
  } else if (wanted_(device_->number(), record)) {
    handler_->OnRecord(device_->number(), record);
  } else {
    ++foreign_;
  }
}

Pace DeviceSource::Drain(int64_t) {
  Pace pace;
  for (const axl_record& record : ring_->Take(&pace.fill_permille)) Handle(record);
  return pace;
}

void DeviceSource::Stop() {
  Drain(0);
  const RingHub::Counts counts = ring_->counts();
  ring_.reset();
  // At the end of the recording, or never owned up to: the time is not known.
  if (counts.lost > loss_dated_) TellLoss(counts.lost - loss_dated_, 0, 0, kRingHop);
  const uint64_t out = counts.out + counts.dropped - foreign_;
  handler_->OnHop(
      {kRingHop + device_->name(), out + counts.lost + counts.bad, out, counts.lost, counts.bad});
  if (counts.dropped > 0) {
    TellLoss(counts.dropped, 0, 0, kQueueHop);
    handler_->OnHop({kQueueHop + device_->name(), out, out - counts.dropped, counts.dropped, 0});
  }
}

}  // namespace acceltrace::daemon
