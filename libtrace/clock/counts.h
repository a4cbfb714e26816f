// SPDX-License-Identifier: Apache-2.0
//
// Raw ticks to a straight time line: wraps and resets. Room: libtrace/clock, not
// for other rooms.
//
// A count is a stretch in which the counter runs on without being set anew. Within
// a count, positions are nominal nanoseconds since its first sample, as doubles:
// a day is 8.64e13 ns, where a double still resolves 0.02 ns.
#ifndef LIBTRACE_CLOCK_COUNTS_H_
#define LIBTRACE_CLOCK_COUNTS_H_

#include <cstdint>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock::internal {

// A sample on its count's time line.
struct Reading {
  double position_ns = 0;
  Sample sample;
};

struct Count {
  uint64_t base_ticks = 0;        // raw, at position 0
  int64_t base_host_ns = 0;       // of the first sample, the reference of offsets
  std::vector<Reading> readings;  // by position, at least one
};

class TickLine {
 public:
  TickLine() = default;
  explicit TickLine(const ClockInfo& info);

  uint64_t Mask(uint64_t ticks) const { return ticks & mask_; }
  bool wraps() const { return bits_ < 64; }
  double ns_per_tick() const { return ns_per_tick_; }
  // Length of a wrap in nominal ns.
  double wrap_ns() const { return wrap_ns_; }
  // Ticks from `base` to `ticks`, the shortest way round, as nominal ns.
  double Distance(uint64_t base, uint64_t ticks) const;
  // The position of `ticks` that is nearest to `near_ns` on the same line.
  double Position(uint64_t base, uint64_t ticks, double near_ns) const;

 private:
  uint64_t mask_ = ~uint64_t{0};
  uint32_t bits_ = 64;
  double ns_per_tick_ = 1;
  double wrap_ns_ = 0;
};

// Sorts samples by host time, drops malformed ones (counted in *malformed), and
// splits where the counter was set anew: it went back, or nowhere near as far as
// the host's clock did, by more than any frequency would explain.
std::vector<Count> SplitCounts(const TickLine& line, std::vector<Sample> samples,
                               uint64_t* malformed);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_COUNTS_H_
