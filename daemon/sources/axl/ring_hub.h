// SPDX-License-Identifier: Apache-2.0
//
// Shares one device's trace ring between recordings of this process, as the hardware supports only
// one consumer.
//
// A single subscriber reads its records in the ring, without copying. With several, each one that
// drains its subscription also drains the ring for the others. Each has a bounded queue; what does
// not fit is counted.
#ifndef DAEMON_SOURCES_AXL_RING_HUB_H_
#define DAEMON_SOURCES_AXL_RING_HUB_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/sources/axl/axl_device.h"
#include "daemon/sources/axl/ring_reader.h"

namespace acceltrace::daemon {

class RingHub : public std::enable_shared_from_this<RingHub> {
 public:
  // What a subscriber received since its begin.
  struct Counts {
    uint64_t out = 0;      // records passed on
    uint64_t lost = 0;     // dropped by the device
    uint64_t bad = 0;      // invalid index or number
    uint64_t dropped = 0;  // dropped as this subscriber's queue was full
    uint64_t queued = 0;   // in the queue, not yet passed to the handler
  };

  class Subscription {
   public:
    explicit Subscription(std::shared_ptr<RingHub> hub) : hub_(std::move(hub)) {}
    ~Subscription() { End(); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    // Discards what was received and lost so far.
    void Begin();

    // Ends the intake; queued records can still be drained, and the counts stay. As another
    // subscriber may drain the ring at any time, the queue and the counts would not be consistent
    // without this.
    void End();

    // Passes on at most max_records records, like RingReader::Drain. Returns the ring's fill level
    // in permille.
    template <typename Handler>
    uint32_t Drain(size_t max_records, Handler&& handler) {
      std::unique_lock<std::mutex> lock(hub_->mutex_);
      if (!ended_ && hub_->subscriptions_.size() == 1 && taken_ == queue_.size()) {
        queue_.clear();
        taken_ = 0;
        const uint32_t fill =
            hub_->reader_.Drain(max_records, [&](const axl_record* records, size_t count) {
              const size_t skipped = SkipLossBefore(records, count);
              out_ += count - skipped;
              if (count > skipped) handler(records + skipped, count - skipped);
            });
        more_ = hub_->reader_.more();
        return fill;
      }
      const uint32_t fill = ended_ ? 0 : hub_->PumpLocked();
      const size_t count = std::min(queue_.size() - taken_, max_records);
      handed_.assign(queue_.begin() + static_cast<ptrdiff_t>(taken_),
                     queue_.begin() + static_cast<ptrdiff_t>(taken_ + count));
      taken_ += count;
      more_ = taken_ < queue_.size();
      if (!more_) {
        queue_.clear();
        taken_ = 0;
      }
      // A slow handler must not delay the other subscribers.
      lock.unlock();
      if (count > 0) handler(handed_.data(), count);
      return fill;
    }
    // Like Source::Mark() and Source::PassedMark().
    void Mark();
    bool PassedMark() const;
    // Returns true if the last Drain left records.
    bool more() const { return more_; }
    Counts counts() const;
    // The ring's current fill level. May be called from any thread.
    uint32_t fill_permille() const { return hub_->reader_.FillPermille(); }
    // Readable when the ring is a quarter full.
    int wake_fd() const { return hub_->wake_fd_; }

   private:
    friend class RingHub;
    // The device reports dropped records when there is space again. If such a report comes first,
    // the loss was before the ring had been emptied for this subscriber. Returns the number of
    // records in that report.
    size_t SkipLossBefore(const axl_record* records, size_t count);
    Counts CountsLocked() const;

    std::shared_ptr<RingHub> hub_;
    std::vector<axl_record> handed_;  // what is being passed to the handler
    // The following members are guarded by the hub's mutex.
    std::vector<axl_record> queue_;
    size_t taken_ = 0;  // of queue_
    bool more_ = false;
    uint64_t mark_ = 0;
    RingCounts at_start_;
    uint64_t out_ = 0, dropped_ = 0;
    uint64_t lost_before_ = 0;  // reported by the first record
    bool fresh_ = true;         // no record since its begin
    bool ended_ = false;
    Counts at_end_;  // valid if ended_
  };

  // Opens the device's ring, or joins its current subscribers, whose counter period is kept. Fails
  // like AxlDevice::OpenTraceRing.
  static Result<std::unique_ptr<Subscription>> Subscribe(const std::shared_ptr<AxlDevice>& device,
                                                         uint64_t counter_period_ns);

  // `close` is called when the last subscriber is gone.
  RingHub(RingReader reader, int wake_fd, std::function<void()> close)
      : reader_(std::move(reader)), wake_fd_(wake_fd), close_(std::move(close)) {}
  ~RingHub() { close_(); }
  std::unique_ptr<Subscription> Join();

 private:
  // These require the mutex.
  uint32_t PumpLocked();
  void BeginLocked(Subscription* subscription);

  std::mutex mutex_;
  RingReader reader_;
  int wake_fd_;
  std::function<void()> close_;
  std::vector<Subscription*> subscriptions_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RING_HUB_H_
