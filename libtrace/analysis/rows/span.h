// SPDX-License-Identifier: Apache-2.0
//
// Durations with bounds, and their statistics.
//
// A duration between two host times is exact; one that crosses clocks is as uncertain as both of
// its ends: [b.lo - a.hi, b.hi - a.lo]. Order statistics of the true durations are between those of
// the lower and those of the upper bounds, and so is the mean, which is what Summarise() uses. A
// duration between two things that happen in order is cut off at 0, unless it is entirely negative
// (a violation, which causality.h reports).
#ifndef LIBTRACE_ANALYSIS_ROWS_SPAN_H_
#define LIBTRACE_ANALYSIS_ROWS_SPAN_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct Span {
  int64_t lo_ns = 0, mid_ns = 0, hi_ns = 0;

  static Span Exact(int64_t ns) { return {ns, ns, ns}; }
  // Returns the larger distance from mid to a bound.
  int64_t ErrorNs() const;
  Span& operator+=(const Span& other);
};

// A sum of durations, in ns with fractions, since rounding each of them outwards would add up.
struct Amount {
  double lo = 0, mid = 0, hi = 0;

  Amount& operator+=(const Amount& other) {
    lo += other.lo, mid += other.mid, hi += other.hi;
    return *this;
  }
  // Limits this part of `whole`, so that all parts are at least 0 and no more than it.
  Amount Within(const Amount& whole) const;
  // Rounds outwards to whole ns.
  Span Round() const;
};
// Returns what remains of a whole without a part of it, at least 0.
Amount Less(const Amount& whole, const Amount& part);
// A span that is known, as an amount.
inline Amount ToAmount(const Span& span) {
  return {static_cast<double>(span.lo_ns), static_cast<double>(span.mid_ns),
          static_cast<double>(span.hi_ns)};
}

// A share or a rate: dimensionless or per second. hi may be infinite.
struct Ratio {
  double lo = 0, mid = 0, hi = 0;
};
// Returns the share of a whole that a part has, in [0, 1]. It is 0 if the whole may be nothing.
Ratio ShareOf(const Amount& part, const Amount& whole);
// Returns the share of a sum that one of its addends has: bounds of the other addends count only
// once.
Ratio ShareOfSum(const Amount& part, const Amount& sum);
// Returns a count per second.
Ratio PerSecond(double count, const Amount& time);
// Returns the part of an exactly known peak; all 0 if it is not known.
Ratio OfPeak(const Ratio& rate, double peak);

// Returns a host time as an interval without width.
inline model::Interval At(int64_t host_ns) { return {host_ns, host_ns, host_ns}; }

Span Between(const model::Interval& from, const model::Interval& to);
// Returns the time from one event to a later one, cut off at 0 unless it is entirely negative.
Span Lapse(const model::Interval& from, const model::Interval& to);

struct Stats {
  uint64_t count = 0;
  Span min, mean, p50, p90, p99, max, total;
};

// Uses percentiles by nearest rank. Makes three copies to sort.
Stats Summarise(const std::vector<Span>& spans);
// Does the same for exactly known durations.
Stats SummariseExact(std::vector<int64_t> exact_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_SPAN_H_
