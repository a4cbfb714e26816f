// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/device_source.h"

#include <limits>

namespace acceltrace::daemon {
namespace {

// About 100 microseconds of work, before other sources are drained.
constexpr size_t kRecordsPerDrain = 1024;
constexpr char kRingHop[] = "device-ring/";
constexpr char kQueueHop[] = "session-queue/";

RecordLimits LimitsOf(const axl_info& info) {
  RecordLimits limits;
  limits.num_queues = info.num_queues;
  limits.num_contexts = info.num_contexts;
  limits.num_counters = info.num_counters;
  limits.clock_bits = info.clock_bits;
  return limits;
}

}  // namespace

DeviceSource::DeviceSource(std::shared_ptr<AxlDevice> device, uint64_t counter_period_ns,
                           Filter wanted, EventHandler* handler)
    : device_(std::move(device)),
      counter_period_ns_(counter_period_ns),
      handler_(handler),
      intake_(device_->number(), LimitsOf(device_->info()), kRingHop + device_->name(),
              std::move(wanted), handler) {}

Status DeviceSource::Start() {
  auto ring = RingHub::Subscribe(device_, counter_period_ns_);
  if (!ring.ok()) return ring.status();
  ring_ = std::move(ring).value();
  handler_->OnProbe("device:" + device_->name(), true, "");
  return {};
}

void DeviceSource::ReportLoss(uint64_t count, const char* hop) {
  Loss loss;
  loss.hop = hop + device_->name();
  loss.count = count;
  loss.in_ticks = true;
  loss.device = device_->number();
  handler_->OnLoss(loss);
}

Pace DeviceSource::Drain(int64_t now_ns) {
  Pace pace;
  pace.fill_permille = ring_->Drain(
      kRecordsPerDrain,
      [this](const axl_record* records, size_t count) { intake_.Handle(records, count); });
  if (ring_->more()) pace.next_ns = now_ns;
  return pace;
}

std::vector<Hop> DeviceSource::Hops() {
  const RingHub::Counts counts = ring_->counts();
  const uint64_t waiting = counts.queued + intake_.waiting();
  const uint64_t bad = counts.bad + intake_.bad();
  // Loss records, which the device adds, are only reported.
  const uint64_t out =
      counts.out + counts.dropped - intake_.foreign() - intake_.bad() - intake_.loss_records();
  const std::string ring = kRingHop + device_->name(), queue = kQueueHop + device_->name();
  if (counts.dropped == 0) {
    return {{ring, out + counts.lost + bad, out - waiting, counts.lost, bad, kSessionHop, waiting}};
  }
  return {{ring, out + counts.lost + bad, out, counts.lost, bad, queue},
          {queue, out, out - counts.dropped - waiting, counts.dropped, 0, kSessionHop, waiting}};
}

void DeviceSource::Flush() { intake_.Flush(); }

void DeviceSource::Stop() {
  const auto drain = [this] {
    do {
      ring_->Drain(
          std::numeric_limits<size_t>::max(),
          [this](const axl_record* records, size_t count) { intake_.Handle(records, count); });
    } while (ring_->more());
  };
  drain();  // reads most of it without copying
  ring_->End();
  drain();
  Flush();
  const std::vector<Hop> hops = Hops();
  const RingHub::Counts counts = ring_->counts();
  ring_.reset();
  // These were at the end of the recording, or were never reported by the device: their time is
  // unknown.
  if (counts.lost > intake_.loss_dated()) ReportLoss(counts.lost - intake_.loss_dated(), kRingHop);
  if (counts.dropped > 0) ReportLoss(counts.dropped, kQueueHop);
  for (const Hop& hop : hops) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
