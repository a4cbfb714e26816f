// SPDX-License-Identifier: Apache-2.0
//
// One device's trace ring for everyone in this process who wants it: the hardware
// has one consumer, recordings may be several.
//
// A subscriber that is alone gets its records where they lie in the ring. Where there are several,
// whoever drains its subscription also drains the ring for the others: one that does not
// come has a bounded queue, and what does not fit is counted.
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
  // What a subscriber got since it came.
  struct Counts {
    uint64_t out = 0;      // records handed over
    uint64_t lost = 0;     // dropped by the device
    uint64_t bad = 0;      // index or number that makes no sense
    uint64_t dropped = 0;  // found this subscriber's queue full
    uint64_t queued = 0;   // handed over by the ring, but not yet to the handler
  };

  class Subscription {
   public:
    explicit Subscription(std::shared_ptr<RingHub> hub) : hub_(std::move(hub)) {}
    ~Subscription() { End(); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    // Forgets what came and was lost so far.
    void Begin();

    // Nothing comes in after this; what is queued can still be drained, and the counts stay.
    // Another subscriber may drain the ring at any time: without this the last look at the queue
    // and the counts would belong to different moments.
    void End();

    // Hands over at most max_records, as RingReader::Drain does. Returns how full
    // the ring was, in permille.
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
      // One whose file is slow to take them keeps the others from nothing.
      lock.unlock();
      if (count > 0) handler(handed_.data(), count);
      return fill;
    }
    // As Source::Mark() and Source::PassedMark().
    void Mark();
    bool PassedMark() const;
    // Whether the last Drain left any.
    bool more() const { return more_; }
    Counts counts() const;
    // How full the ring is now; from any thread.
    uint32_t fill_permille() const { return hub_->reader_.FillPermille(); }
    // Readable when the ring is a quarter full.
    int wake_fd() const { return hub_->wake_fd_; }

   private:
    friend class RingHub;
    // The device says what it dropped when there is space again. Said first of all, that was while
    // the ring had not been emptied for this subscriber. Returns how many records that takes.
    size_t SkipLossBefore(const axl_record* records, size_t count);
    Counts CountsLocked() const;

    std::shared_ptr<RingHub> hub_;
    std::vector<axl_record> handed_;  // to the handler, at the moment
    // Guarded by the hub's mutex:
    std::vector<axl_record> queue_;
    size_t taken_ = 0;  // of queue_
    bool more_ = false;
    uint64_t mark_ = 0;
    RingCounts at_start_;
    uint64_t out_ = 0, dropped_ = 0;
    uint64_t lost_before_ = 0;  // reported by the first record
    bool fresh_ = true;         // no record since it began
    bool ended_ = false;
    Counts at_end_;  // once ended_
  };

  // Opens the device's ring, or joins those who have it open already (whose
  // counter period stays). Errors: as AxlDevice::OpenTraceRing.
  static Result<std::unique_ptr<Subscription>> Subscribe(const std::shared_ptr<AxlDevice>& device,
                                                         uint64_t counter_period_ns);

  // close: called when the last subscriber has gone.
  RingHub(RingReader reader, int wake_fd, std::function<void()> close)
      : reader_(std::move(reader)), wake_fd_(wake_fd), close_(std::move(close)) {}
  ~RingHub() { close_(); }
  std::unique_ptr<Subscription> Join();

 private:
  // With the mutex held.
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
