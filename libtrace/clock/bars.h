// SPDX-License-Identifier: Apache-2.0
//
// Orders of events as gates that curves have to pass. Internal.
#ifndef LIBTRACE_CLOCK_BARS_H_
#define LIBTRACE_CLOCK_BARS_H_

#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

// Constraints as gates, by curve. What contradicts the samples is left out; rejected: where such
// were, by curve.
std::vector<std::vector<Bar>> SortBars(const MapData& data,
                                       const std::vector<Constraint>& constraints,
                                       std::vector<std::vector<double>>* rejected);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_BARS_H_
