// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/span.h"

#include <algorithm>

namespace acceltrace::analysis {
namespace {

// Bounds far outside of any trace (a device without clock samples) must not overflow.
int64_t Saturated(__int128 value) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return value < kMin ? kMin : value > kMax ? kMax : static_cast<int64_t>(value);
}

// One of lo, mid, hi of every span, sorted; then its statistics into the same
// member of each field of *stats.
void SummariseOne(const std::vector<Span>& spans, int64_t Span::*which, Stats* stats) {
  std::vector<int64_t> values;
  values.reserve(spans.size());
  __int128 total = 0;
  for (const Span& span : spans) {
    values.push_back(span.*which);
    total += span.*which;
  }
  std::sort(values.begin(), values.end());
  const auto rank = [&](uint64_t percent) {
    const size_t n = values.size();
    return values[(n * percent + 99) / 100 - 1];
  };
  stats->min.*which = values.front();
  stats->p50.*which = rank(50);
  stats->p90.*which = rank(90);
  stats->p99.*which = rank(99);
  stats->max.*which = values.back();
  stats->total.*which = Saturated(total);
  // Rounded to nearest, so that a mean of equal values is that value.
  const __int128 n = static_cast<__int128>(values.size());
  stats->mean.*which = Saturated((total >= 0 ? total + n / 2 : total - n / 2) / n);
}

}  // namespace

int64_t Span::ErrorNs() const {
  return Saturated(
      std::max(static_cast<__int128>(hi_ns) - mid_ns, static_cast<__int128>(mid_ns) - lo_ns));
}

Span& Span::operator+=(const Span& other) {
  lo_ns = Saturated(static_cast<__int128>(lo_ns) + other.lo_ns);
  mid_ns = Saturated(static_cast<__int128>(mid_ns) + other.mid_ns);
  hi_ns = Saturated(static_cast<__int128>(hi_ns) + other.hi_ns);
  return *this;
}

Span Between(const model::Interval& from, const model::Interval& to) {
  return {Saturated(static_cast<__int128>(to.lo_ns) - from.hi_ns),
          Saturated(static_cast<__int128>(to.mid_ns) - from.mid_ns),
          Saturated(static_cast<__int128>(to.hi_ns) - from.lo_ns)};
}

Span OnDevice(const model::Device& device, uint64_t from_ticks, uint64_t to_ticks) {
  if (!device.clock.valid()) {
    // The nominal frequency is all there is; what it is worth nobody knows.
    const double hz = static_cast<double>(device.about.clock().nominal_hz());
    const double ticks = static_cast<double>(static_cast<int64_t>(to_ticks - from_ticks));
    return Span::Exact(static_cast<int64_t>(hz > 0 ? ticks * 1e9 / hz : ticks));
  }
  const model::Interval span = device.clock.Duration(from_ticks, to_ticks);
  return {span.lo_ns, span.mid_ns, span.hi_ns};
}

Stats Summarise(const std::vector<Span>& spans) {
  Stats stats;
  stats.count = spans.size();
  if (spans.empty()) return stats;
  SummariseOne(spans, &Span::lo_ns, &stats);
  SummariseOne(spans, &Span::mid_ns, &stats);
  SummariseOne(spans, &Span::hi_ns, &stats);
  return stats;
}

}  // namespace acceltrace::analysis
