// SPDX-License-Identifier: Apache-2.0
//
// Several device clocks that bound each other: copies between devices, fences that
// they share.
#ifndef LIBTRACE_CLOCK_GRAPH_H_
#define LIBTRACE_CLOCK_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// An event of one device that cannot have been later than one of another.
struct Edge {
  struct Point {
    size_t device = 0;  // index of its builder
    uint64_t ticks = 0;
    Window when = {};
  };
  Point earlier, later;
};

struct Graph {
  std::vector<Map> maps;  // by builder
  // How long after the earlier the later event was, by edge. Below zero as a whole: the
  // order is broken, whatever the true times within their bounds are.
  std::vector<Interval> slack;
  size_t violations = 0;
};

// Fits all clocks, then again with what each says of the others, until nothing gets
// tighter. Errors: those of MapBuilder::Build.
Result<Graph> BuildGraph(std::span<const MapBuilder> builders, std::span<const Edge> edges);

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_GRAPH_H_
