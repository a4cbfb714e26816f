// SPDX-License-Identifier: Apache-2.0
//
// Which chain of events determined the length of the run, and how much slack did all others have?
//
// The path is followed backwards from the run's last event. Each node came when the last one of
// those that it waited for had come (graph.h), so the chain of these is as long as the run, and
// what its time was spent on adds up to the run. The slack of a command is by how much it could
// have been later without making the run longer; it is 0 on the path.
#ifndef LIBTRACE_ANALYSIS_WHATIF_CRITICAL_PATH_H_
#define LIBTRACE_ANALYSIS_WHATIF_CRITICAL_PATH_H_

#include <string>
#include <vector>

#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct PathShare {
  std::string name;   // a cause, an op with its unit, a call or a layer
  std::string where;  // host, driver, bus, or a device and its unit
  uint64_t count = 0;
  double ns = 0;
  double tracer_ns = 0;  // time due to the tracer
};

// Consecutive events of the path whose time is spent on the same thing.
struct PathPiece {
  double begin_ns = 0, end_ns = 0;  // relative to the begin of the run
  std::string name, where;
};

struct OpSlack {
  std::string op, unit;
  uint64_t count = 0, critical = 0;  // all commands, and those on the path
  double least_ns = 0, mean_ns = 0;
};

struct CriticalPath {
  bool valid = false;
  std::string error;
  double run_ns = 0;
  uint64_t nodes = 0, on_path = 0;
  std::vector<PathShare> causes, ops, calls, layers;  // each sorted by time, the longest first
  std::vector<PathPiece> pieces;                      // sorted by time, at most kMaxPieces
  uint64_t more_pieces = 0;
  std::vector<OpSlack> slack;  // sorted by least slack
  static constexpr size_t kMaxPieces = 2000;
};

// A node of the path. It came at end_ns. The last node that it waited for, through `edge`, came at
// begin_ns (0 and kNone if there was none), and the edge itself delayed it until middle_ns.
struct PathNode {
  uint32_t node = 0, edge = 0, from = 0;
  double begin_ns = 0, middle_ns = 0, end_ns = 0;  // since the run's begin, rising
};
// Starts from the run's last event.
std::vector<PathNode> WalkPath(const Graph& graph);
// Returns the edge that was the last to let a node come, or Graph::kNone if there is none.
uint32_t LastEdge(const Graph& graph, uint32_t node);
// Returns what a path's time is spent on, if the graph knows it.
std::string PathCauseName(Cause cause);

CriticalPath ComputeCriticalPath(const model::Model& model, const Graph& graph);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_CRITICAL_PATH_H_
