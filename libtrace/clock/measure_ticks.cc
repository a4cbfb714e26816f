// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libtrace/clock/counts.h"

namespace acceltrace::clock::internal {

void MeasureTicks(const TickLine& line, const Rates& rates, Count* count) {
  // Readings must be this far apart, so that their brackets and frequencies that are a few percent
  // off have little effect.
  constexpr double kBrackets = 20, kLeastNs = 1e6, kSlack = 1.05;
  std::vector<Reading>& readings = count->readings;
  const auto width = [](const Sample& s) {
    return static_cast<double>(s.host_after_ns - s.host_before_ns);
  };
  const auto between = [&](const Reading& a, const Reading& b, double* tick) {
    const auto host = static_cast<double>(b.sample.host_after_ns - a.sample.host_before_ns);
    const double device = b.position_ns - a.position_ns;
    if (device <= 0 || device < 2 * line.ns_per_tick()) return false;
    *tick = std::max(*tick, kSlack * host / (device - line.ns_per_tick()) * line.ns_per_tick());
    const double trips = width(a.sample) + width(b.sample);
    return host >= std::max(kLeastNs, kBrackets * trips);
  };
  constexpr size_t kMost = 64;
  for (size_t i = 0; i < readings.size(); ++i) {
    double tick = 0;
    bool any = false;
    const auto look = [&](auto at) {
      double best = 0;
      for (size_t n = 1; n <= kMost; ++n) {
        double found = 0;
        const Reading* other = at(n);
        if (other == nullptr) break;
        const bool before = other->position_ns < readings[i].position_ns;
        const bool far =
            before ? between(*other, readings[i], &found) : between(readings[i], *other, &found);
        if (found > 0) best = found;
        if (far) break;
      }
      any |= best > 0;
      tick = std::max(tick, best);
    };
    look([&](size_t n) { return i >= n ? &readings[i - n] : nullptr; });
    look([&](size_t n) { return i + n < readings.size() ? &readings[i + n] : nullptr; });
    const double longest = line.ns_per_tick() / rates.lo;
    readings[i].tick_ns = any ? std::min(tick, longest) : longest;
  }
}

}  // namespace acceltrace::clock::internal
