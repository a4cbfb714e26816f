// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/span.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libtrace/clock/whole.h"

namespace acceltrace::analysis {
namespace {

// Bounds far outside of any trace (as of a device without clock samples) must not overflow.
int64_t Saturated(__int128 value) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return value < kMin ? kMin : value > kMax ? kMax : static_cast<int64_t>(value);
}

// Computes the statistics of one of lo, mid or hi, and stores them in the same member of each field
// of *stats.
void SummariseOne(std::vector<int64_t> values, int64_t Span::*which, Stats* stats) {
  __int128 total = 0;
  for (const int64_t value : values) total += value;
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
  // Rounded to nearest, so that the mean of equal values is that value.
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

Amount Amount::Within(const Amount& whole) const {
  Amount cut{std::max(lo, 0.0), mid, std::min(hi, whole.hi)};
  // The data contradict themselves; keep a valid interval.
  cut.hi = std::max(cut.hi, cut.lo);
  cut.mid = std::clamp(cut.mid, cut.lo, cut.hi);
  return cut;
}

Span Amount::Round() const {
  // Differences below the resolution of a double are not an uncertainty of the clock.
  constexpr double kNoise = 1e-6;
  const auto whole = [](double ns) {
    // Nearly always; other values are limited to half of the range.
    if (std::abs(ns) < 0x1p62) return static_cast<int64_t>(ns);
    return Saturated(static_cast<__int128>(ns));
  };
  Span span{whole(clock::Floor(lo + kNoise)), whole(clock::Round(mid)),
            whole(clock::Ceil(hi - kNoise))};
  span.lo_ns = std::min(span.lo_ns, span.mid_ns);
  span.hi_ns = std::max(span.hi_ns, span.mid_ns);
  return span;
}

Amount Less(const Amount& whole, const Amount& part) {
  return {std::max(0.0, whole.lo - part.hi), std::max(0.0, whole.mid - part.mid),
          std::max(0.0, whole.hi - part.lo)};
}

Ratio ShareOf(const Amount& part, const Amount& whole) {
  const auto share = [](double a, double b) { return b > 0 ? std::clamp(a / b, 0.0, 1.0) : 0; };
  Ratio ratio{share(part.lo, whole.hi), share(part.mid, whole.mid), share(part.hi, whole.lo)};
  // If the whole may be nothing, the share can be anything.
  if (whole.lo <= 0 && part.hi > 0) ratio.hi = 1;
  ratio.mid = std::clamp(ratio.mid, ratio.lo, std::max(ratio.lo, ratio.hi));
  return ratio;
}

Ratio ShareOfSum(const Amount& part, const Amount& sum) {
  const auto share = [](double some, double others) {
    return some + others > 0 ? std::clamp(some / (some + others), 0.0, 1.0) : 0;
  };
  const Amount rest{sum.lo - part.lo, sum.mid - part.mid, sum.hi - part.hi};
  return {share(part.lo, rest.hi), share(part.mid, rest.mid), share(part.hi, rest.lo)};
}

Ratio PerSecond(double count, const Amount& time) {
  if (count <= 0) return {};
  const auto rate = [count](double ns) {
    return ns > 0 ? count * 1e9 / ns : std::numeric_limits<double>::infinity();
  };
  Ratio ratio{rate(time.hi), rate(time.mid), rate(time.lo)};
  // If the time may be nothing, only a lower bound is known.
  if (std::isinf(ratio.mid)) ratio.mid = ratio.lo;
  return ratio;
}

Ratio OfPeak(const Ratio& rate, double peak) {
  if (peak <= 0) return {};
  return {rate.lo / peak, rate.mid / peak, rate.hi / peak};
}

Span Between(const model::Interval& from, const model::Interval& to) {
  return {Saturated(static_cast<__int128>(to.lo_ns) - from.hi_ns),
          Saturated(static_cast<__int128>(to.mid_ns) - from.mid_ns),
          Saturated(static_cast<__int128>(to.hi_ns) - from.lo_ns)};
}

Span Lapse(const model::Interval& from, const model::Interval& to) {
  Span span = Between(from, to);
  if (span.hi_ns >= 0) {
    span.lo_ns = std::max<int64_t>(span.lo_ns, 0);
    span.mid_ns = std::max<int64_t>(span.mid_ns, 0);
  }
  return span;
}

Stats Summarise(const std::vector<Span>& spans) {
  Stats stats;
  stats.count = spans.size();
  if (spans.empty()) return stats;
  for (int64_t Span::*which : {&Span::lo_ns, &Span::mid_ns, &Span::hi_ns}) {
    std::vector<int64_t> values(spans.size());
    std::transform(spans.begin(), spans.end(), values.begin(),
                   [which](const Span& span) { return span.*which; });
    SummariseOne(std::move(values), which, &stats);
  }
  return stats;
}

Stats SummariseExact(std::vector<int64_t> exact_ns) {
  Stats stats;
  stats.count = exact_ns.size();
  if (exact_ns.empty()) return stats;
  SummariseOne(std::move(exact_ns), &Span::mid_ns, &stats);
  for (Span* span :
       {&stats.min, &stats.mean, &stats.p50, &stats.p90, &stats.p99, &stats.max, &stats.total}) {
    *span = Span::Exact(span->mid_ns);
  }
  return stats;
}

}  // namespace acceltrace::analysis
