// SPDX-License-Identifier: Apache-2.0
//
// Orders of events as gates that curves have to pass. Internal.
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
  // So much (ns) lower, or higher, the curve's bound would have to be; 0 both: that is not all.
  double below = 0, above = 0;
};

// Constraints as gates, by curve, without those that contradict the samples: of each place the
// tightest. drafts: of the curves. *count: of all constraints.
std::vector<TightestBars> SortBars(const MapData& data, const std::vector<Draft>& drafts,
                                   const Constraints& constraints, std::vector<Wrong>* wrong,
                                   uint64_t* count);
// Only those that contradict.
void FindWrong(const MapData& data, const Constraints& constraints, std::vector<Wrong>* wrong);

// Curves that orders contradict by no more than the samples beside them leave open: the host's
// clock, or the device's, moved by less than a round trip, which no sample shows. Bounds that deny
// this would be too narrow, so they are moved until the orders hold. wrong: by SortBars().
void WidenCurves(std::span<const Wrong> wrong, std::vector<Draft>* drafts, MapData* data);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_BARS_H_
