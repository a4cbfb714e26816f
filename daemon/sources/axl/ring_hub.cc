// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/ring_hub.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2Records = 16;  // 8 MiB, or what is available
constexpr size_t kMaxQueued = size_t{2} << kLog2Records;

// The open rings of this process, by device number.
std::mutex open_mutex;
std::map<uint32_t, std::weak_ptr<RingHub>>& OpenHubs() {
  static auto* hubs = new std::map<uint32_t, std::weak_ptr<RingHub>>;  // never destroyed
  return *hubs;
}

}  // namespace

Result<std::unique_ptr<RingHub::Subscription>> RingHub::Subscribe(
    const std::shared_ptr<AxlDevice>& device, uint64_t counter_period_ns) {
  const std::lock_guard<std::mutex> open_lock(open_mutex);
  std::shared_ptr<RingHub> hub = OpenHubs()[device->number()].lock();
  if (!hub) {
    auto map = device->OpenTraceRing(kLog2Records, counter_period_ns);
    if (!map.ok()) return map.status();
    auto reader = RingReader::Open(map->get(), map->bytes());
    if (!reader.ok()) {
      device->CloseTraceRing();
      return Status::Error(device->name() + ": " + reader.message());
    }
    const auto mapping = std::make_shared<Mapping>(std::move(map).value());
    hub = std::make_shared<RingHub>(std::move(reader).value(), device->fd(),
                                    [device, mapping] { device->CloseTraceRing(); });
    OpenHubs()[device->number()] = hub;
  }
  return hub->Join();
}

std::unique_ptr<RingHub::Subscription> RingHub::Join() {
  auto subscription = std::make_unique<Subscription>(shared_from_this());
  const std::lock_guard<std::mutex> lock(mutex_);
  subscriptions_.push_back(subscription.get());
  BeginLocked(subscription.get());
  return subscription;
}

void RingHub::BeginLocked(Subscription* subscription) {
  PumpLocked();  // earlier records are not for the new subscriber
  subscription->queue_.clear();
  subscription->taken_ = 0;
  subscription->at_start_ = reader_.counts();
  subscription->out_ = subscription->dropped_ = subscription->lost_before_ = 0;
  subscription->fresh_ = true;
}

void RingHub::Subscription::Begin() {
  const std::lock_guard<std::mutex> lock(hub_->mutex_);
  hub_->BeginLocked(this);
}

void RingHub::Subscription::Mark() {
  const std::lock_guard<std::mutex> lock(hub_->mutex_);
  mark_ = hub_->reader_.Mark();
}

bool RingHub::Subscription::PassedMark() const {
  const std::lock_guard<std::mutex> lock(hub_->mutex_);
  return taken_ == queue_.size() && hub_->reader_.Passed(mark_);
}

size_t RingHub::Subscription::SkipLossBefore(const axl_record* records, size_t count) {
  if (!fresh_ || count == 0) return 0;
  fresh_ = false;
  axl_record first;
  std::memcpy(&first, records, sizeof(first));
  if (first.h.type != AXL_REC_LOSS) return 0;
  lost_before_ += first.loss.lost;
  return 1;
}

uint32_t RingHub::PumpLocked() {
  const auto everything = std::numeric_limits<size_t>::max();
  return reader_.Drain(everything, [this](const axl_record* records, size_t count) {
    for (Subscription* subscription : subscriptions_) {
      const size_t skipped = subscription->SkipLossBefore(records, count);
      std::vector<axl_record>& queue = subscription->queue_;
      const size_t room = kMaxQueued - std::min(kMaxQueued, queue.size());
      const size_t fit = std::min(count - skipped, room);
      queue.insert(queue.end(), records + skipped, records + skipped + fit);
      subscription->out_ += fit;
      subscription->dropped_ += count - skipped - fit;
    }
  });
}

void RingHub::Subscription::End() {
  const std::lock_guard<std::mutex> lock(hub_->mutex_);
  if (ended_) return;
  hub_->PumpLocked();
  at_end_ = CountsLocked();
  ended_ = true;
  std::vector<Subscription*>& all = hub_->subscriptions_;
  all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

RingHub::Counts RingHub::Subscription::counts() const {
  const std::lock_guard<std::mutex> lock(hub_->mutex_);
  Counts counts = ended_ ? at_end_ : CountsLocked();
  counts.queued = queue_.size() - taken_;
  return counts;
}

RingHub::Counts RingHub::Subscription::CountsLocked() const {
  const RingCounts& now = hub_->reader_.counts();
  Counts counts;
  counts.out = out_;
  counts.dropped = dropped_;
  const uint64_t lost = now.AllLost() - at_start_.AllLost();
  counts.lost = lost - std::min(lost, lost_before_);
  counts.bad = now.bad_index + now.bad_sequence - (at_start_.bad_index + at_start_.bad_sequence);
  return counts;
}

}  // namespace acceltrace::daemon
