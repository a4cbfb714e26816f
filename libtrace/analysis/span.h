// SPDX-License-Identifier: Apache-2.0
//
// Durations with bounds, and their statistics.
//
// A duration between two host times is exact; one that crosses clocks is as
// uncertain as its two ends: [b.lo - a.hi, b.hi - a.lo]. Order statistics of the
// true durations lie between those of the lower and those of the upper bounds,
// and so does the mean: that is what Summarise() uses. What cannot be negative has
// no negative bound: a duration between two things that happen in order is cut off
// at 0, unless all of it lies below (a violation, reported as such by causality.h).
#ifndef LIBTRACE_ANALYSIS_SPAN_H_
#define LIBTRACE_ANALYSIS_SPAN_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

struct Span {
  int64_t lo_ns = 0, mid_ns = 0, hi_ns = 0;

  static Span Exact(int64_t ns) { return {ns, ns, ns}; }
  // The larger distance from mid to a bound.
  int64_t ErrorNs() const;
  Span& operator+=(const Span& other);
};

// A sum of durations, in ns with fractions: were each of them rounded outwards, the
// rounding would add up.
struct Amount {
  double lo = 0, mid = 0, hi = 0;

  Amount& operator+=(const Amount& other) {
    lo += other.lo, mid += other.mid, hi += other.hi;
    return *this;
  }
  // This of several that make up `whole`: no more than it, and none of it below 0.
  Amount Within(const Amount& whole) const;
  // Whole ns, outwards.
  Span Round() const;
};
// What is left of a whole when parts of it are taken away, at least 0.
Amount Less(const Amount& whole, const Amount& part);
// A span that is known, as an amount.
inline Amount ToAmount(const Span& span) {
  return {static_cast<double>(span.lo_ns), static_cast<double>(span.mid_ns),
          static_cast<double>(span.hi_ns)};
}

// A share, a rate: without dimension or by the second. hi may be infinite.
struct Ratio {
  double lo = 0, mid = 0, hi = 0;
};
// Of the whole that it is a part of: [0, 1]. 0 when the whole may be nothing.
Ratio ShareOf(const Amount& part, const Amount& whole);
// Of a sum that it is one of the addends of: the others' bounds do not widen it twice.
Ratio ShareOfSum(const Amount& part, const Amount& sum);
// So many of something in that time.
Ratio PerSecond(double count, const Amount& time);
// As a part of a rate that is known exactly; all 0 when it is not known.
Ratio OfPeak(const Ratio& rate, double peak);

// A host time as an interval without width.
inline model::Interval At(int64_t host_ns) { return {host_ns, host_ns, host_ns}; }

Span Between(const model::Interval& from, const model::Interval& to);
// From one thing to another that comes after it: nothing of it is below 0, unless all is.
Span Lapse(const model::Interval& from, const model::Interval& to);

struct Stats {
  uint64_t count = 0;
  Span min, mean, p50, p90, p99, max, total;
};

// Percentiles by nearest rank. Reorders nothing; costs three sorts of a copy.
Stats Summarise(const std::vector<Span>& spans);
// Of durations that are known exactly.
Stats SummariseExact(std::vector<int64_t> exact_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_SPAN_H_
