// SPDX-License-Identifier: Apache-2.0
//
// Finds orders of events that cannot affect a curve, four at a time. Nearly all are far from its
// bounds, and only a few in each place are the tightest. Internal.
#ifndef LIBTRACE_CLOCK_ORDER_SIEVE_H_
#define LIBTRACE_CLOCK_ORDER_SIEVE_H_

#include <cstddef>

#include "libtrace/clock/constraints.h"
#include "libtrace/clock/curve_part.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

// Returns true if the clock has a single curve without wraps and jumps, so that each reading has
// exactly one place.
bool IsPlain(const MapData& data);

class OrderSieve {
 public:
  // With `bars`, finds orders that may be tighter than these. With nullptr, finds those that the
  // curve may contradict.
  OrderSieve(const MapData& data, const TightestBars* bars);

  // A set of orders among four, as bits counted from `first`.
  struct Found {
    size_t first = 0;
    unsigned which = 0;
  };
  // Returns the next orders of a run, from an index on, that have to be examined; at the end, none.
  Found Next(const Constraints::Run& run, size_t from);

 private:
  bool CanPass(const Constraints::Run& run) const;
  bool MoveTo(uint64_t ticks);

  const MapData& data_;
  const TightestBars* const bars_;
  bool usable_ = false;
  CurvePart part_;
  double drift_ns_ = 0;  // a bound of the part is at most this much lower a tick later
};

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_ORDER_SIEVE_H_
