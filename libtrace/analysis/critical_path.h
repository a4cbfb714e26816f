// SPDX-License-Identifier: Apache-2.0
//
// Which chain of events set the run's time, and how much room had all others?
//
// From the run's last event back: each node came when the last of those that it waited for had
// come (graph.h), so the chain of the last ones is as long as the run. What its time was spent on
// adds up to the run. The slack of a command is by how much it could have been later without the
// run being longer: 0 on the path.
#ifndef LIBTRACE_ANALYSIS_CRITICAL_PATH_H_
#define LIBTRACE_ANALYSIS_CRITICAL_PATH_H_

#include <string>
#include <vector>

#include "libtrace/analysis/graph.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

struct PathShare {
  std::string name;   // a cause, an op with its unit, a call, a layer
  std::string where;  // host, driver, bus, or a device and its unit
  uint64_t count = 0;
  double ns = 0;
  double tracer_ns = 0;  // of it
};

// Consecutive events of the path that are spent alike.
struct PathPiece {
  double begin_ns = 0, end_ns = 0;  // from the run's begin
  std::string name, where;
};

struct OpSlack {
  std::string op, unit;
  uint64_t count = 0, critical = 0;  // on the path
  double least_ns = 0, mean_ns = 0;
};

struct CriticalPath {
  bool valid = false;
  std::string error;
  double run_ns = 0;
  uint64_t nodes = 0, on_path = 0;
  std::vector<PathShare> causes, ops, calls, layers;  // each by time, the longest first
  std::vector<PathPiece> pieces;                      // in order of time, at most kMaxPieces
  uint64_t more_pieces = 0;
  std::vector<OpSlack> slack;  // by the least slack
  static constexpr size_t kMaxPieces = 2000;
};

// A node of the path. It came at end_ns; the one that it waited for last, by `edge`, came at
// begin_ns (0, and kNone: nothing did), and what lies on the edge held it up until middle_ns.
struct PathNode {
  uint32_t node = 0, edge = 0, from = 0;
  double begin_ns = 0, middle_ns = 0, end_ns = 0;  // from the run's begin; they never go back
};
// From the run's last event back.
std::vector<PathNode> WalkPath(const Graph& graph);
// The edge that was the last to let a node come; Graph::kNone: nothing did.
uint32_t LastEdge(const Graph& graph, uint32_t node);
// What a path's time is spent on, where the graph knows it.
std::string PathCauseName(Cause cause);

CriticalPath ComputeCriticalPath(const model::Model& model, const Graph& graph);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CRITICAL_PATH_H_
