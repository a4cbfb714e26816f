// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/graph.h"

#include <utility>

namespace acceltrace::clock {

namespace {

// A bound travels one edge per round. Longer chains gain next to nothing, as each edge adds the
// time that its copy took.
constexpr int kMaxRounds = 4;

Interval At(const Graph& graph, const Edge::Point& point) {
  const Map& map = graph.maps[point.device];
  const bool bounded = point.when.lo_ns != Window::kMin || point.when.hi_ns != Window::kMax;
  if (!bounded) return map.ToHost(point.ticks, point.when.near_ns);
  return map.Locate(point.ticks, point.when).host;
}

Status Fit(std::span<const MapBuilder> builders, Graph* graph) {
  graph->maps.clear();
  for (const MapBuilder& builder : builders) {
    Result<Map> map = builder.Build();
    if (!map.ok()) return map.status();
    graph->maps.push_back(std::move(map).value());
  }
  return {};
}

}  // namespace

Result<Graph> BuildGraph(std::span<const MapBuilder> builders, std::span<const Edge> edges) {
  Graph graph;
  if (Status status = Fit(builders, &graph); !status.ok()) return status;
  for (int round = 0; round < kMaxRounds && !edges.empty(); ++round) {
    std::vector<MapBuilder> tighter(builders.begin(), builders.end());
    bool gained = false;
    for (const Edge& edge : edges) {
      const Interval earlier = At(graph, edge.earlier), later = At(graph, edge.later);
      if (later.hi_ns < earlier.lo_ns) continue;  // a violation gives no bounds
      // The later event is not before the earliest possible time of the earlier one, and the
      // earlier event is not after the latest possible time of the later one.
      const Constraint not_before{edge.later.ticks, earlier.lo_ns, Constraint::Order::kHostFirst,
                                  edge.later.when};
      const Constraint not_after{edge.earlier.ticks, later.hi_ns, Constraint::Order::kDeviceFirst,
                                 edge.earlier.when};
      if (earlier.lo_ns > later.lo_ns) {
        tighter[edge.later.device].AddConstraints({&not_before, 1});
        gained = true;
      }
      if (later.hi_ns < earlier.hi_ns) {
        tighter[edge.earlier.device].AddConstraints({&not_after, 1});
        gained = true;
      }
    }
    if (!gained) break;
    if (Status status = Fit(tighter, &graph); !status.ok()) return status;
  }
  for (const Edge& edge : edges) {
    const Interval earlier = At(graph, edge.earlier), later = At(graph, edge.later);
    const Interval slack{later.lo_ns - earlier.hi_ns, later.mid_ns - earlier.mid_ns,
                         later.hi_ns - earlier.lo_ns};
    graph.violations += slack.hi_ns < 0;
    graph.slack.push_back(slack);
  }
  return graph;
}

}  // namespace acceltrace::clock
