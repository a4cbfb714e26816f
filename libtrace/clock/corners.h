// SPDX-License-Identifier: Apache-2.0
//
// Extends the edges of a region to corners, four edges at a time. Internal.
#ifndef LIBTRACE_CLOCK_CORNERS_H_
#define LIBTRACE_CLOCK_CORNERS_H_

#include <cstddef>

#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// Edges whose angle has a smaller sine count as parallel. tube.cc counts sets from a nearby origin,
// so that coordinates are exact to about 1e-12 of the sides.
inline constexpr double kParallel = 1e-11;

// For each edge, identified by its first vertex: the point where its prolonged neighbours meet, and
// the area that this adds, which is infinite if they do not meet.
struct Corners {
  double offsets[Region::kMostVertices], slopes[Region::kMostVertices];
  double areas[Region::kMostVertices];
};
// The polygon must be counter-clockwise and have at least four vertices. Corners whose offset is
// outside of `offsets` count as more expensive than any other.
void FindCorners(const State* vertices, size_t count, const Range& offsets, Corners* corners);
// Returns true if the path turns left at each vertex by more than a rounding error. Also needs at
// least four vertices.
bool TurnsLeftAll(const State* vertices, size_t count);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_CORNERS_H_
