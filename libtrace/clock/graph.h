// SPDX-License-Identifier: Apache-2.0
//
// Fits several device clocks that bound each other through copies between devices or shared fences.
#ifndef LIBTRACE_CLOCK_GRAPH_H_
#define LIBTRACE_CLOCK_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::clock {

// An event on one device that cannot have been later than one on another device.
struct Edge {
  struct Point {
    size_t device = 0;  // index of its builder
    uint64_t ticks = 0;
    Window when = {};
  };
  Point earlier, later;
};

struct Graph {
  std::vector<Map> maps;  // by index of the builder
  // For each edge, by how much the later event was later than the earlier one. If the whole
  // interval is below zero, the order is broken, whatever the true times are.
  std::vector<Interval> slack;
  size_t violations = 0;
};

// Fits all clocks, then fits them again with the bounds that others give, until nothing gets
// tighter. Fails as MapBuilder::Build does.
Result<Graph> BuildGraph(std::span<const MapBuilder> builders, std::span<const Edge> edges);

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_GRAPH_H_
