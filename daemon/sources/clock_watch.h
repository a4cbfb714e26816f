// SPDX-License-Identifier: Apache-2.0
//
// When to sample a device clock next. Room: daemon/sources.
//
// A clock that runs evenly needs few samples: two bound all between them. One
// that does not is seen by predicting each sample from the two before; as soon
// as a prediction fails by more than the samples' own brackets allow, sampling
// becomes dense and then falls back, so that the moment of change is enclosed.
// What a sample costs is measured, and the next one waits until that is little.
#ifndef DAEMON_SOURCES_CLOCK_WATCH_H_
#define DAEMON_SOURCES_CLOCK_WATCH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

// The first multiple of a period after a time. Ticks on multiples do not wander with
// what was done on the way, and recordings of the same thing tick alike.
inline int64_t NextMultiple(int64_t now_ns, int64_t period_ns) {
  return (now_ns / period_ns + 1) * period_ns;
}

class ClockWatch {
 public:
  static constexpr int64_t kSteadyNs = 100'000'000;
  static constexpr int64_t kDenseNs = 5'000'000;
  // Samples nearer to each other than this say nothing about the rate.
  static constexpr int64_t kMinBaselineNs = kDenseNs / 2;
  // Sampling takes at most one part in so many of the time, bursts at the ends apart.
  // Reads of 1 us that are tried four times leave the dense pace as it is.
  static constexpr int64_t kMaxShare = 200;

  explicit ClockWatch(uint32_t clock_bits)
      : mask_(clock_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << clock_bits) - 1) {}

  // Takes a sample and what it cost; returns the ns until the next one should be taken.
  int64_t Next(const axl_clock_sample& sample, int64_t cost_ns) {
    // The median of three: where the guest's CPU is held by its host, which a guest counts
    // as time used, one sample of 50 ms must not silence a clock for ten seconds.
    costs_ns_[samples_++ % 3] = cost_ns;
    const auto& [a, b, c] = costs_ns_;
    const int64_t usual_ns = samples_ == 1 ? a
                             : samples_ == 2
                                 ? std::min(a, b)
                                 : std::max(std::min(a, b), std::min(std::max(a, b), c));
    const int64_t pause_ns = Pace(sample);
    return std::max(pause_ns, std::min(usual_ns, kSteadyNs) * kMaxShare);
  }

  uint64_t surprises() const { return surprises_; }

 private:
  // The pace that the clock asks for.
  int64_t Pace(const axl_clock_sample& sample) {
    const Point point = {static_cast<int64_t>(sample.host_before_ns + sample.host_after_ns) / 2,
                         static_cast<int64_t>(sample.host_after_ns - sample.host_before_ns),
                         sample.device_ticks};
    if (points_ > 0 && point.host_ns - last_.host_ns < kMinBaselineNs) return pause_ns_;
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
    return pause_ns_;
  }

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
  uint64_t samples_ = 0;
  int64_t costs_ns_[3] = {};
  int64_t pause_ns_ = kSteadyNs;
  uint64_t surprises_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_CLOCK_WATCH_H_
