// SPDX-License-Identifier: Apache-2.0
//
// Determines where commands are between snapshots of a device's counters. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_SAMPLE_TICKS_H_
#define LIBTRACE_ANALYSIS_ROWS_SAMPLE_TICKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/model/tables/tables.h"

namespace acceltrace::analysis {

// What a unit did in an interval: a command, or the sum over commands of other processes.
struct Work {
  uint64_t from_ticks = 0, to_ticks = 0;
  uint32_t from_epoch = clock::kNoEpoch, to_epoch = clock::kNoEpoch;
  // The host times of the interval, which are looked up if ticks do not decide.
  const model::DeviceTimes *from_times = nullptr, *to_times = nullptr;
  size_t row = 0;
  uint64_t commands = 0, busy = 0, bytes = 0;
  std::vector<uint64_t> stalls;
  bool failed = false;  // failed or with unknown ticks, so that counters do not count it
};

// A range of ticks of one count between two snapshots.
struct Gap {
  uint64_t first = 0, ticks = 0;
  friend bool operator==(const Gap&, const Gap&) = default;
  bool Has(uint64_t at) const { return at - first < ticks; }
};

// Snapshots that have distinct places among the ticks of one count, so that the place of work
// relative to them follows from comparing numbers, with the same results as Ends() and Begins().
class SampleTicks {
 public:
  SampleTicks() = default;
  SampleTicks(const model::CounterSamples& samples, const std::vector<size_t>& rows, bool jumps) {
    if (rows.empty() || jumps) return;
    epoch_ = samples.time.epoch[rows[0]];
    base_ = samples.time.ticks[rows[0]];
    bool any = epoch_ != clock::kNoEpoch;
    for (const size_t row : rows) {
      const uint64_t ticks = samples.time.ticks[row];
      any = any && samples.time.epoch[row] == epoch_ && IsNear(ticks) &&
            (ahead_.empty() || ahead_.back() <= Ahead(ticks));
      ahead_.push_back(Ahead(ticks));
    }
    if (!any) ahead_.clear();
  }
  uint32_t epoch() const { return epoch_; }
  bool Has(const Work& work) const {
    return !ahead_.empty() && work.from_epoch == epoch_ && work.to_epoch == epoch_ &&
           IsNear(work.from_ticks) && IsNear(work.to_ticks);
  }
  // Returns the first snapshot after the end of the work. *guess is tried first.
  size_t FirstAfter(const Work& work, size_t* guess) const {
    const int64_t at = Ahead(work.to_ticks);
    const size_t g = *guess;
    if ((g == 0 || ahead_[g - 1] <= at) && (g == ahead_.size() || ahead_[g] > at)) return g;
    return *guess = static_cast<size_t>(std::upper_bound(ahead_.begin(), ahead_.end(), at) -
                                        ahead_.begin());
  }
  // Returns the range between a snapshot and the previous one.
  Gap Before(size_t sample) const {
    const uint64_t after = sample == 0 ? base_ - kNear / 2 : TicksOf(sample - 1);
    const uint64_t until = sample == ahead_.size() ? base_ + kNear / 2 : TicksOf(sample);
    return {after + 1, until - after - 1};
  }
  bool Begins(const Work& work, size_t sample) const {
    return Ahead(work.from_ticks) > ahead_[sample];
  }

 private:
  // Differences of such numbers do not overflow.
  bool IsNear(uint64_t ticks) const { return ticks - base_ + kNear / 2 < kNear; }
  uint64_t TicksOf(size_t sample) const { return base_ + static_cast<uint64_t>(ahead_[sample]); }
  int64_t Ahead(uint64_t ticks) const { return static_cast<int64_t>(ticks - base_); }

  static constexpr uint64_t kNear = uint64_t{1} << 62;
  uint64_t base_ = 0;
  uint32_t epoch_ = clock::kNoEpoch;
  std::vector<int64_t> ahead_;  // relative to the first one; empty if they have no such places
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_SAMPLE_TICKS_H_
