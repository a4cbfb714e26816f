// SPDX-License-Identifier: Apache-2.0
//
// A clock followed while it is being recorded, in bounded memory: for the live view.
#ifndef LIBTRACE_CLOCK_ONLINE_H_
#define LIBTRACE_CLOCK_ONLINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// Remembers the latest samples and, between two of them, the tightest constraint on
// either side: with what a fit needs for itself, below 1 MiB whatever comes in. Times
// before the oldest sample kept are bounded as wide as the clock may have wandered.
class OnlineClock {
 public:
  static constexpr size_t kMaxSamples = 384;
  static constexpr size_t kMaxCuts = 64;

  explicit OnlineClock(const ClockInfo& info, const Options& options = {})
      : info_(info), options_(options) {}

  // In order of time.
  void Add(const Sample& sample);
  void Add(const Change& change);
  void AddCut(uint64_t ticks, Cut cut, int64_t near_ns, double hz = 0);
  void AddConstraint(const Constraint& constraint);

  // The map as of now, fitted anew if anything came since the last call. Errors as
  // MapBuilder::Build.
  const Result<Map>& Current();

 private:
  // The tightest constraint since the last sample.
  struct Tightest {
    std::optional<Constraint> constraint;
    int64_t room_ns = 0;
  };

  ClockInfo info_;
  Options options_;
  std::deque<Sample> samples_;
  std::deque<Change> changes_;
  std::deque<Constraint> constraints_;
  Tightest lower_, upper_;
  Result<Map> map_ = Status::Error("no clock samples yet");
  bool stale_ = false;
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_ONLINE_H_
