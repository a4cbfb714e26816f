// SPDX-License-Identifier: Apache-2.0
//
// Measures how well a map knows its clock. Internal.
#ifndef LIBTRACE_CLOCK_QUALITY_H_
#define LIBTRACE_CLOCK_QUALITY_H_

#include <span>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/map_data.h"

namespace acceltrace::clock::internal {

// Fills in what the curves show of themselves and of the samples. The builder fills in how many
// samples and constraints were given and rejected.
void Measure(std::span<const Count> counts, MapData* data);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_QUALITY_H_
