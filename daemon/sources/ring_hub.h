// SPDX-License-Identifier: Apache-2.0
//
// One device's trace ring for everyone in this process who wants it: the hardware
// has one consumer, recordings may be several. Room: daemon/sources.
//
// Whoever drains its subscription also drains the ring for the others. A
// subscriber that does not come has a bounded queue; what does not fit is counted.
#ifndef DAEMON_SOURCES_RING_HUB_H_
#define DAEMON_SOURCES_RING_HUB_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/sources/axl_device.h"
#include "daemon/sources/ring_reader.h"

namespace acceltrace::daemon {

class RingHub : public std::enable_shared_from_this<RingHub> {
 public:
  // What a subscriber got since it came.
  struct Counts {
    uint64_t out = 0;      // records handed over
    uint64_t lost = 0;     // dropped by the device
    uint64_t bad = 0;      // refused: content, index or number
    uint64_t dropped = 0;  // found this subscriber's queue full
  };

  class Subscription {
   public:
    explicit Subscription(std::shared_ptr<RingHub> hub) : hub_(std::move(hub)) {}
    ~Subscription() { hub_->Remove(this); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    // Empties the ring into the queues of all subscribers. Returns how full it was,
    // in permille.
    uint32_t Pump();
    // Swaps the queue for *records, which must be empty.
    void Take(std::vector<axl_record>* records);
    bool waiting() const { return queued() > 0; }
    size_t queued() const;
    Counts counts() const;
    // Readable when the ring is a quarter full.
    int wake_fd() const { return hub_->device_->fd(); }

   private:
    friend class RingHub;
    std::shared_ptr<RingHub> hub_;
    std::vector<axl_record> queue_;  // guarded by the hub's mutex
    RingCounts at_start_;
    uint64_t out_ = 0, dropped_ = 0;
  };

  // Opens the device's ring, or joins those who have it open already (whose
  // counter period stays). Errors: as AxlDevice::OpenTraceRing.
  static Result<std::unique_ptr<Subscription>> Subscribe(const std::shared_ptr<AxlDevice>& device,
                                                         uint64_t counter_period_ns);

  RingHub(std::shared_ptr<AxlDevice> device, Mapping map, RingReader reader)
      : device_(std::move(device)), map_(std::move(map)), reader_(std::move(reader)) {}
  ~RingHub() { device_->CloseTraceRing(); }

 private:
  // With the mutex held.
  uint32_t PumpLocked();
  void Remove(Subscription* subscription);

  std::mutex mutex_;
  std::shared_ptr<AxlDevice> device_;
  Mapping map_;
  RingReader reader_;
  std::vector<Subscription*> subscriptions_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_RING_HUB_H_
