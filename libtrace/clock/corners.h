// SPDX-License-Identifier: Apache-2.0
//
// The edges of a region, four at a time. Internal.
#ifndef LIBTRACE_CLOCK_CORNERS_H_
#define LIBTRACE_CLOCK_CORNERS_H_

#include <cstddef>

#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// Sine of an angle that is taken for none. Sets are counted from nearby (tube.cc), so
// that coordinates are exact to about 1e-12 of their sides.
inline constexpr double kParallel = 1e-11;

// For each edge, by its first vertex: where its neighbours meet, prolonged, and what area that
// adds; infinite: they do not.
struct Corners {
  double offsets[Region::kMostVertices], slopes[Region::kMostVertices];
  double areas[Region::kMostVertices];
};
// Of a polygon with four vertices or more, counter-clockwise. Corners beyond `offsets` add more
// than any other.
void FindCorners(const State* vertices, size_t count, const Range& offsets, Corners* corners);
// Whether the way turns left at each vertex, by more than rounding. Of as many.
bool TurnsLeftAll(const State* vertices, size_t count);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_CORNERS_H_
