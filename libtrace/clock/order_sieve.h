// SPDX-License-Identifier: Apache-2.0
//
// Orders of events that say nothing of a curve, found four at a time: nearly all of them are far
// from its bounds, and a few in each place are the tightest. Internal.
#ifndef LIBTRACE_CLOCK_ORDER_SIEVE_H_
#define LIBTRACE_CLOCK_ORDER_SIEVE_H_

#include <cstddef>

#include "libtrace/clock/constraints.h"
#include "libtrace/clock/curve_part.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

// One curve whose end nobody knows, without wraps and jumps: there is one place for each reading.
bool IsPlain(const MapData& data);

class OrderSieve {
 public:
  // bars: of the orders that may matter those are found that may be tighter. nullptr: those that
  // the curve may not meet.
  OrderSieve(const MapData& data, const TightestBars* bars);

  // Orders, by bit, from the first of four on.
  struct Found {
    size_t first = 0;
    unsigned which = 0;
  };
  // The next of a run that have to be looked at, from one of them on. At its end none.
  Found Next(const Constraints::Run& run, size_t from);

 private:
  bool CanPass(const Constraints::Run& run) const;
  bool MoveTo(uint64_t ticks);

  const MapData& data_;
  const TightestBars* const bars_;
  bool usable_ = false;
  CurvePart part_;
  double drift_ns_ = 0;  // a bound of the part is lower a tick later by so much at most
};

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_ORDER_SIEVE_H_
