// SPDX-License-Identifier: Apache-2.0
//
// Decides when to sample a device clock next.
//
// A clock with a constant rate needs few samples, as two of them bound all times in between. A
// change of rate is detected by predicting each sample from the previous two: when a prediction
// fails by more than the samples' own brackets allow, sampling becomes dense and then slows down
// again, so that the time of the change is narrowed down. The cost of samples is measured, and the
// next one is delayed until their share is small.
#ifndef DAEMON_SOURCES_COMMON_CLOCK_WATCH_H_
#define DAEMON_SOURCES_COMMON_CLOCK_WATCH_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

// Returns the first multiple of a period after a time. Ticks at multiples do not drift with the
// work in between, and recordings of the same thing have the same ticks.
inline int64_t NextMultiple(int64_t now_ns, int64_t period_ns) {
  return (now_ns / period_ns + 1) * period_ns;
}

// Recent costs of an operation, in ns of CPU time.
class Costs {
 public:
  // In a virtual machine, time taken by the host counts as used CPU time, on busy hosts sometimes
  // several times in a row. The minimum of this many is the actual cost.
  static constexpr size_t kKept = 8;
  // Longer costs are limited to this, which is more than a time slice of other work on the host.
  static constexpr int64_t kMostNs = 50'000'000;

  void Add(int64_t cost_ns) {
    kept_ns_[added_++ % kKept] = std::clamp(cost_ns, int64_t{0}, kMostNs);
  }
  bool IsFull() const { return added_ >= kKept; }
  int64_t LeastNs() const {
    return added_ == 0 ? 0 : *std::min_element(kept_ns_.begin(), kept_ns_.begin() + Kept());
  }
  int64_t MeanNs() const {
    return added_ == 0
               ? 0
               : std::accumulate(kept_ns_.begin(), kept_ns_.begin() + Kept(), int64_t{0}) / Kept();
  }

 private:
  ptrdiff_t Kept() const { return static_cast<ptrdiff_t>(std::min<uint64_t>(added_, kKept)); }

  uint64_t added_ = 0;
  std::array<int64_t, kKept> kept_ns_ = {};
};

class ClockWatch {
 public:
  static constexpr int64_t kSteadyNs = 100'000'000;
  static constexpr int64_t kDenseNs = 5'000'000;
  // Samples closer to each other than this tell nothing about the rate.
  static constexpr int64_t kMinBaselineNs = kDenseNs / 2;
  // Sampling takes at most 1 / kMaxShare of the time, except for bursts at the ends. A sample of 25
  // us still allows the dense pace.
  static constexpr int64_t kMaxShare = 200;
  // The same for the mean, including what may be time of the host. One sample of 50 ms then still
  // allows the steady pace.
  static constexpr int64_t kMaxCountedShare = 10;

  explicit ClockWatch(uint32_t clock_bits)
      : mask_(clock_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << clock_bits) - 1) {}

  // Updates the pace at which the clock requires samples.
  void Add(const ClockSample& sample) {
    const Point point = {(sample.host_before_ns + sample.host_after_ns) / 2,
                         sample.host_after_ns - sample.host_before_ns, sample.device_ticks};
    if (points_ > 0 && point.host_ns - last_.host_ns < kMinBaselineNs) return;
    if (points_ >= 2) {
      const bool surprised = Surprising(point);
      if (surprised) ++surprises_;
      // A clock that never meets predictions must not be sampled densely for ever.
      const bool steady = pause_ns_ >= kSteadyNs;
      pause_ns_ = surprised && steady ? kDenseNs : std::min(2 * pause_ns_, kSteadyNs);
    }
    before_ = last_;
    last_ = point;
    points_ = std::min(points_ + 1, 2);
  }

  // Returns true if the clock meets predictions. It is latched only then: latching serves the
  // narrowest interval, and would slow the sampling of an unsteady clock down.
  bool steady() const { return pause_ns_ >= kSteadyNs; }

  // Returns the ns until the next sample, given the cost of the last one and of latching, if that
  // was done. As long as one in Costs::kKept is cheap, it is below a second, whatever the others
  // cost.
  int64_t Pause(int64_t sample_ns, int64_t latches_ns = 0) {
    samples_.Add(sample_ns);
    if (latches_ns > 0) latches_.Add(latches_ns);
    int64_t least_ns = samples_.LeastNs(), mean_ns = samples_.MeanNs();
    if (steady()) mean_ns += latches_.MeanNs();
    // Samples were taken in a burst, but the first latch may be one that was delayed.
    if (steady() && latches_.IsFull()) least_ns += latches_.LeastNs();
    return std::max({pause_ns_, least_ns * kMaxShare, mean_ns * kMaxCountedShare});
  }

  uint64_t surprises() const { return surprises_; }

 private:
  struct Point {
    int64_t host_ns = 0;  // middle of the bracket
    int64_t width_ns = 0;
    uint64_t ticks = 0;
  };

  // Returns true if a straight line through the last two samples misses this one by more than their
  // brackets and one tick each explain: half a width each, multiplied by the extrapolation.
  bool Surprising(const Point& point) const {
    const auto base_ns = static_cast<double>(last_.host_ns - before_.host_ns);
    const auto ahead_ns = static_cast<double>(point.host_ns - last_.host_ns);
    const double base_ticks = static_cast<double>((last_.ticks - before_.ticks) & mask_);
    const double ahead_ticks = static_cast<double>((point.ticks - last_.ticks) & mask_);
    if (base_ticks <= 0) return true;  // it stands still, or was reset
    const double reach = ahead_ns / base_ns;
    const double error_ns = std::fabs(ahead_ticks * base_ns / base_ticks - ahead_ns);
    const double allowed_ns =
        (static_cast<double>(before_.width_ns) * reach +
         static_cast<double>(last_.width_ns) * (1 + reach) + static_cast<double>(point.width_ns)) /
        2;
    return error_ns > allowed_ns;
  }

  uint64_t mask_;
  Point before_, last_;
  int points_ = 0;
  Costs samples_, latches_;
  int64_t pause_ns_ = kSteadyNs;
  uint64_t surprises_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_CLOCK_WATCH_H_
