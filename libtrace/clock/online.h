// SPDX-License-Identifier: Apache-2.0
//
// Follows a clock during the recording, in bounded memory, for the live view.
#ifndef LIBTRACE_CLOCK_ONLINE_H_
#define LIBTRACE_CLOCK_ONLINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// Keeps the latest samples and, between each two of them, the tightest constraint on either side.
// Including what a fit needs, it takes less than 1 MiB whatever the input is. Times before the
// oldest kept sample are bounded by how far the clock may have drifted.
class OnlineClock {
 public:
  static constexpr size_t kMaxSamples = 384;
  static constexpr size_t kMaxCuts = 64;

  explicit OnlineClock(const ClockInfo& info, const Options& options = {})
      : info_(info), options_(options) {}

  // Must be called in order of time.
  void Add(const Sample& sample);
  void Add(const Change& change);
  void AddCut(uint64_t ticks, Cut cut, int64_t near_ns, double hz = 0);
  void AddConstraint(const Constraint& constraint);

  // Returns the present map, which is fitted again if anything was added. Fails as
  // MapBuilder::Build does.
  const Result<Map>& Current();

 private:
  // The tightest constraints since the last sample.
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
