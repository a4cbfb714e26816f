// SPDX-License-Identifier: Apache-2.0
//
// Durations with bounds, and their statistics. Room: libtrace/analysis; may
// include libtrace/model and below.
//
// A duration between two host times is exact; one that crosses clocks is as
// uncertain as its two ends: [b.lo - a.hi, b.hi - a.lo]. Order statistics of the
// true durations lie between those of the lower and those of the upper bounds,
// and so does the mean: that is what Summarise() uses.
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

// A host time as an interval without width.
inline model::Interval At(int64_t host_ns) { return {host_ns, host_ns, host_ns}; }

Span Between(const model::Interval& from, const model::Interval& to);
// Two times of one device's clock: only its rate is uncertain.
Span OnDevice(const model::Device& device, uint64_t from_ticks, uint64_t to_ticks);

struct Stats {
  uint64_t count = 0;
  Span min, mean, p50, p90, p99, max, total;
};

// Percentiles by nearest rank. Reorders nothing; costs three sorts of a copy.
Stats Summarise(const std::vector<Span>& spans);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_SPAN_H_
