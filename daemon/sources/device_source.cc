// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/device_source.h"

#include <algorithm>
#include <limits>

namespace acceltrace::daemon {
namespace {

constexpr size_t kRecordsPerDrain = 4096;
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
    ++loss_records_;
    TellLoss(record.loss.lost, record.loss.first_time, record.loss.last_time, kRingHop);
  } else if (wanted_(device_->number(), record)) {
    handler_->OnRecord(device_->number(), record);
  } else {
    ++foreign_;
    handler_->OnOthersRecord(device_->number(), record);
  }
}

bool DeviceSource::HandleSome(size_t max_records) {
  if (handled_ == taken_.size()) {
    taken_.clear();
    handled_ = 0;
    ring_->Take(&taken_);
  }
  const size_t end = std::min(taken_.size(), handled_ + max_records);
  while (handled_ < end) Handle(taken_[handled_++]);
  return handled_ < taken_.size();
}

Pace DeviceSource::Drain(int64_t now_ns) {
  Pace pace;
  // Getting records off the ring comes first: it is small, and copying is cheap.
  pace.fill_permille = ring_->Pump();
  if (HandleSome(kRecordsPerDrain)) pace.next_ns = now_ns;
  return pace;
}

std::vector<Hop> DeviceSource::Hops() {
  const RingHub::Counts counts = ring_->counts();
  const uint64_t waiting = taken_.size() - handled_ + ring_->queued();
  // Records of losses, which the device adds, are told and go no further.
  const uint64_t out = counts.out + counts.dropped - foreign_ - loss_records_;
  const std::string ring = kRingHop + device_->name(), queue = kQueueHop + device_->name();
  if (counts.dropped == 0) {
    return {{ring, out + counts.lost + counts.bad, out - waiting, counts.lost, counts.bad, "",
             waiting}};
  }
  return {{ring, out + counts.lost + counts.bad, out, counts.lost, counts.bad, queue},
          {queue, out, out - counts.dropped - waiting, counts.dropped, 0, "", waiting}};
}

void DeviceSource::Stop() {
  ring_->Pump();
  const size_t everything = std::numeric_limits<size_t>::max() / 2;
  while (HandleSome(everything) || ring_->waiting()) {
  }
  const std::vector<Hop> hops = Hops();
  const RingHub::Counts counts = ring_->counts();
  ring_.reset();
  // At the end of the recording, or never owned up to: the time is not known.
  if (counts.lost > loss_dated_) TellLoss(counts.lost - loss_dated_, 0, 0, kRingHop);
  if (counts.dropped > 0) TellLoss(counts.dropped, 0, 0, kQueueHop);
  for (const Hop& hop : hops) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
