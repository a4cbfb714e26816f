// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/counts.h"

#include <algorithm>
#include <cmath>

namespace acceltrace::clock::internal {

TickLine::TickLine(const ClockInfo& info) : bits_(info.bits) {
  if (bits_ < 64) mask_ = (uint64_t{1} << bits_) - 1;
  ns_per_tick_ = 1e9 / info.nominal_hz;
  wrap_ns_ = std::ldexp(ns_per_tick_, static_cast<int>(bits_));
}

double TickLine::Distance(uint64_t base, uint64_t ticks) const {
  const uint64_t forward = Mask(ticks - base);
  const uint64_t back = Mask(base - ticks);
  return forward <= back ? static_cast<double>(forward) * ns_per_tick_
                         : -static_cast<double>(back) * ns_per_tick_;
}

double TickLine::Position(uint64_t base, uint64_t ticks, double near_ns) const {
  const double position = Distance(base, ticks);
  return position + std::round((near_ns - position) / wrap_ns_) * wrap_ns_;
}

std::vector<Count> SplitCounts(const TickLine& line, std::vector<Sample> samples,
                               uint64_t* malformed) {
  // A frequency between a quarter and four times the nominal one is the same count:
  // accelerators scale their clocks within that; anything else was set anew.
  constexpr double kMaxRatio = 4;
  const auto bad = [](const Sample& s) { return s.host_after_ns < s.host_before_ns; };
  const size_t given = samples.size();
  std::erase_if(samples, bad);
  *malformed = given - samples.size();
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.host_before_ns < b.host_before_ns; });

  std::vector<Count> counts;
  for (const Sample& sample : samples) {
    if (!counts.empty()) {
      Count& count = counts.back();
      const Reading& last = count.readings.back();
      const double host_ns =
          0.5 * static_cast<double>((sample.host_before_ns - last.sample.host_before_ns) +
                                    (sample.host_after_ns - last.sample.host_after_ns));
      const double slack_ns =
          static_cast<double>((sample.host_after_ns - sample.host_before_ns) +
                              (last.sample.host_after_ns - last.sample.host_before_ns)) +
          2 * line.ns_per_tick();
      const double position =
          line.Position(count.base_ticks, sample.device_ticks, last.position_ns + host_ns);
      const double device_ns = position - last.position_ns;
      // Brackets may overlap, so that even the order of two readings is open.
      const double most = host_ns + slack_ns, least = host_ns - slack_ns;
      if (device_ns <= kMaxRatio * most &&
          device_ns >= (least > 0 ? least / kMaxRatio : kMaxRatio * least)) {
        count.readings.push_back({position, sample});
        continue;
      }
    }
    Count count;
    count.base_ticks = line.Mask(sample.device_ticks);
    count.base_host_ns = sample.host_before_ns;
    count.readings.push_back({0, sample});
    counts.push_back(std::move(count));
  }
  for (Count& count : counts) {
    std::stable_sort(
        count.readings.begin(), count.readings.end(),
        [](const Reading& a, const Reading& b) { return a.position_ns < b.position_ns; });
  }
  return counts;
}

}  // namespace acceltrace::clock::internal
