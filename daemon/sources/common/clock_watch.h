// SPDX-License-Identifier: Apache-2.0
//
// When to sample a device clock next.
//
// A clock that runs evenly needs few samples: two bound all between them. One
// that does not is seen by predicting each sample from the two before; as soon
// as a prediction fails by more than the samples' own brackets allow, sampling
// becomes dense and then falls back, so that the moment of change is enclosed.
// What a sample costs is measured, and the next one waits until that is little.
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

// The first multiple of a period after a time. Ticks on multiples do not wander with
// what was done on the way, and recordings of the same thing tick alike.
inline int64_t NextMultiple(int64_t now_ns, int64_t period_ns) {
  return (now_ns / period_ns + 1) * period_ns;
}

// What something cost lately, CPU time in ns.
class Costs {
 public:
  // A guest counts what its host took from it as time used, and where hosts are busy that is
  // now and then several times in a row: of so many the least is what it takes.
  static constexpr size_t kKept = 8;
  // What takes longer counts as this: more than a turn of whatever else the host runs.
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
  // Samples nearer to each other than this say nothing about the rate.
  static constexpr int64_t kMinBaselineNs = kDenseNs / 2;
  // Sampling takes at most one part in so many of the time, bursts at the ends apart.
  // A sample of 25 us leaves the dense pace as it is.
  static constexpr int64_t kMaxShare = 200;
  // One part in so many if all that was counted was used. One sample of 50 ms then leaves
  // the steady pace as it is.
  static constexpr int64_t kMaxCountedShare = 10;

  explicit ClockWatch(uint32_t clock_bits)
      : mask_(clock_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << clock_bits) - 1) {}

  // Learns from a sample how soon the clock wants the next one.
  void Add(const ClockSample& sample) {
    const Point point = {(sample.host_before_ns + sample.host_after_ns) / 2,
                         sample.host_after_ns - sample.host_before_ns, sample.device_ticks};
    if (points_ > 0 && point.host_ns - last_.host_ns < kMinBaselineNs) return;
    if (points_ >= 2) {
      const bool surprised = Surprising(point);
      if (surprised) ++surprises_;
      // A clock that surprises without end is no reason to sample without end.
      const bool steady = pause_ns_ >= kSteadyNs;
      pause_ns_ = surprised && steady ? kDenseNs : std::min(2 * pause_ns_, kSteadyNs);
    }
    before_ = last_;
    last_ = point;
    points_ = std::min(points_ + 1, 2);
  }

  // Whether the clock runs as foreseen. Only then is it latched, too: that is for the narrowest
  // interval, and would take from the pace of one that does not.
  bool steady() const { return pause_ns_ >= kSteadyNs; }

  // After a sample that cost so much, and what latching cost if that was done, the ns until
  // the next one. While one in Costs::kKept is cheap it is below a second, whatever the others
  // cost.
  int64_t Pause(int64_t sample_ns, int64_t latches_ns = 0) {
    samples_.Add(sample_ns);
    if (latches_ns > 0) latches_.Add(latches_ns);
    int64_t least_ns = samples_.LeastNs(), mean_ns = samples_.MeanNs();
    if (steady()) mean_ns += latches_.MeanNs();
    // Of samples there was a burst; the first latch may be the one that was held up.
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

  // Whether a straight line through the last two samples misses this one by more
  // than their brackets and one tick each explain: half a width each, as far as
  // extrapolating magnifies it.
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
