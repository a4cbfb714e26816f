// SPDX-License-Identifier: Apache-2.0
//
// Converts orders of events to gates that curves have to pass. Internal.
#ifndef LIBTRACE_CLOCK_BARS_H_
#define LIBTRACE_CLOCK_BARS_H_

#include <span>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

// A constraint that contradicts a curve.
struct Wrong {
  size_t curve = 0;
  double position_ns = 0;
  // By how much (in ns) the curve's lower or upper bound would have to move; both are 0 if that
  // alone would not help.
  double below = 0, above = 0;
};

// Converts constraints to gates for each curve and keeps the tightest ones of each place. Those
// that contradict the samples go to *wrong instead. `drafts` are the drafts of the curves. *count
// is the number of all constraints.
std::vector<TightestBars> SortBars(const MapData& data, const std::vector<Draft>& drafts,
                                   const Constraints& constraints, std::vector<Wrong>* wrong,
                                   uint64_t* count);
// Only finds the constraints that contradict the curves.
void FindWrong(const MapData& data, const Constraints& constraints, std::vector<Wrong>* wrong);

// Widens the curves that orders contradict by less than the brackets around them leave open. In
// this case the host's or the device's clock moved by less than a round trip, which no sample can
// show. As the bounds would be too narrow, they are moved until the orders hold. `wrong` comes from
// SortBars().
void WidenCurves(std::span<const Wrong> wrong, std::vector<Draft>* drafts, MapData* data);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_BARS_H_
