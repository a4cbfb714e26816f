// SPDX-License-Identifier: Apache-2.0
//
// A device's clock by its samples, without bounds, which suffices to find packets. Internal.
#ifndef LIBTRACE_MODEL_PART_ROUGH_CLOCK_H_
#define LIBTRACE_MODEL_PART_ROUGH_CLOCK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::model {

// Damaged traces have arbitrary times; times beyond this limit are considered unknown.
inline constexpr int64_t kMostNs = int64_t{1} << 61;
inline int64_t Bounded(double ns) {
  constexpr auto kMost = static_cast<double>(kMostNs);
  return static_cast<int64_t>(std::clamp(ns, -kMost, kMost));
}

// A clock is steady if it keeps its rate to this fraction, apart from the time of reading it and
// this.
inline constexpr double kSteady = 1e-3, kReadNs = 20'000;

// The assumed error of the clock for a part with this margin.
inline int64_t GuardOf(int64_t margin_ns) { return margin_ns / 2 + 2'000'000; }

class RoughClock {
 public:
  void Add(const proto::ClockBatch& batch) {
    stream::DeltaDecoder before(batch.host_before_ns_delta()), ticks(batch.device_ticks_delta());
    const size_t rows = static_cast<size_t>(batch.host_before_ns_delta_size());
    for (size_t i = 0; i < rows; ++i) {
      const auto host_ns = static_cast<int64_t>(before.NextUnsigned());
      const uint64_t width_ns = stream::ColumnAt(batch.host_width_ns(), i);
      samples_.push_back({std::clamp(host_ns, -kMostNs, kMostNs), ticks.NextUnsigned(),
                          static_cast<double>(width_ns)});
    }
  }
  // Returns false if the clock seems to have wrapped, been set or changed its rate, or has too few
  // samples.
  bool Finish() {
    std::sort(samples_.begin(), samples_.end(),
              [](const Sample& a, const Sample& b) { return a.host_ns < b.host_ns; });
    const auto same = [](const Sample& a, const Sample& b) { return a.host_ns == b.host_ns; };
    samples_.erase(std::unique(samples_.begin(), samples_.end(), same), samples_.end());
    if (samples_.size() < 2) return false;
    const double whole = Rate(samples_.front(), samples_.back());
    if (!(whole > 0)) return false;
    for (size_t i = 1; i < samples_.size(); ++i) {
      const double ns = Apart(samples_[i - 1], samples_[i]);
      const auto ticks = static_cast<int64_t>(samples_[i].ticks - samples_[i - 1].ticks);
      const double off = static_cast<double>(ticks) - whole * ns;
      const double read_ns = samples_[i - 1].width_ns + samples_[i].width_ns + kReadNs;
      if (std::abs(off) > whole * (kSteady * ns + read_ns)) return false;
    }
    return true;
  }
  int64_t HostNs(uint64_t ticks) const {
    const auto after = std::upper_bound(samples_.begin() + 1, samples_.end() - 1, ticks,
                                        [](uint64_t a, const Sample& b) { return a < b.ticks; });
    const Sample& from = *(after - 1);
    const double rate = std::max(Rate(from, *after), 1e-9);
    const double ns = static_cast<double>(static_cast<int64_t>(ticks - from.ticks)) / rate;
    // Most are in the range in which the sum is exact.
    return from.host_ns + Bounded(ns);
  }

 private:
  struct Sample {
    int64_t host_ns;
    uint64_t ticks;
    double width_ns;  // duration of reading
  };
  static double Apart(const Sample& a, const Sample& b) {
    return static_cast<double>(b.host_ns) - static_cast<double>(a.host_ns);
  }
  // Returns ticks per ns.
  static double Rate(const Sample& a, const Sample& b) {
    return static_cast<double>(static_cast<int64_t>(b.ticks - a.ticks)) / Apart(a, b);
  }
  std::vector<Sample> samples_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PART_ROUGH_CLOCK_H_
