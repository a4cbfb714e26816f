// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "libtrace/analysis/names.h"
#include "libtrace/analysis/whatif.h"

namespace acceltrace::analysis {
namespace {

using Kind = Graph::Kind;

const char* WhereOf(Cause cause) {
  switch (cause) {
    case kByDriver:
    case kByWake:
      return "driver";
    case kByDoorbell:
    case kByFetch:
    case kByCompletion:
      return "bus";
    case kByOrder:
    case kByUnknown:
    case kByCommand:
      return "device";
    default:
      return "host";
  }
}

Reading AsRecorded() {
  Reading reading;
  reading.keep_turns = true;
  return reading;
}

class Path {
 public:
  Path(const model::Model& model, const Graph& graph) : model_(model), graph_(graph) {}

  CriticalPath Run() {
    CriticalPath& path = path_;
    path.nodes = graph_.size();
    std::vector<uint32_t> order;
    if (graph_.size() == 0) {
      path.error = "the trace holds no work of a device";
    } else if (Replay(graph_, {}, AsRecorded(), nullptr, &order) < 0) {
      path.error = "the trace contradicts itself: events wait for each other in a circle";
    } else {
      path.valid = true;
      path.run_ns = graph_.RunNs();
      critical_.assign(graph_.size(), false);
      Walk();
      Slack(order);
      Sort(causes_, &path.causes), Sort(ops_, &path.ops), Sort(calls_, &path.calls);
      Sort(layers_, &path.layers);
      std::reverse(path.pieces.begin(), path.pieces.end());
    }
    return std::move(path);
  }

 private:
  void Walk() {
    for (const PathNode& at : WalkPath(graph_)) {
      critical_[at.node] = true;
      ++path_.on_path;
      if (graph_.kind[at.node] == Kind::kEnd) {
        Command(graph_.row[at.node], at.begin_ns, at.end_ns);
        continue;
      }
      Spend(graph_.cause[at.node], at.node, at.middle_ns, at.end_ns, 0);
      if (at.edge != Graph::kNone) {
        Spend(graph_.edge_cause[at.edge], at.node, at.begin_ns, at.middle_ns,
              graph_.tracer_ns[at.edge]);
      }
    }
  }

  static void Add(std::map<std::string, PathShare>* shares, const std::string& name,
                  const std::string& where, double ns, double tracer_ns) {
    const bool full = shares->size() >= kMaxNamedRows && !shares->contains(name);
    PathShare& share = (*shares)[full ? kOtherNames : name];
    share.name = full ? kOtherNames : name, share.where = where;
    ++share.count;
    share.ns += ns, share.tracer_ns += tracer_ns;
  }

  void Piece(const std::string& name, const std::string& where, double begin_ns, double end_ns) {
    if (end_ns <= begin_ns) return;
    if (!path_.pieces.empty() && path_.pieces.back().name == name &&
        path_.pieces.back().where == where) {
      path_.pieces.back().begin_ns = begin_ns;
    } else if (path_.pieces.size() < CriticalPath::kMaxPieces) {
      path_.pieces.push_back({begin_ns, end_ns, name, where});
    } else {
      ++path_.more_pieces;
    }
  }

  void Spend(Cause cause, uint32_t node, double begin_ns, double end_ns, double tracer_ns) {
    const double ns = end_ns - begin_ns;
    if (ns <= 0) return;
    const std::string name = PathCauseName(cause);
    Add(&causes_, name, WhereOf(cause), ns, tracer_ns);
    std::string piece = name;
    if (graph_.kind[node] == Kind::kHost) {
      const uint32_t call = graph_.points[graph_.row[node]].api_row;
      if (call != model::kNoRow) {
        const std::string& called = model_.strings.Get(model_.api.name[call]);
        if (cause != kByProgram && !called.empty()) {
          Add(&calls_, called, WhereOf(cause), ns, tracer_ns);
          piece = called;
        }
      }
    }
    Piece(piece, WhereOf(cause), begin_ns, end_ns);
  }

  // What a command on the path did: its stalls, and what they leave.
  void Command(uint32_t command, double begin_ns, double end_ns) {
    const double ns = end_ns - begin_ns;
    const model::Device& device = model_.devices[model_.commands.device[command]];
    const std::string unit = device.UnitName(model_.commands.unit[command]);
    const std::string& op = model_.OpName(command);
    const double tick_ns = graph_.rates[model_.commands.device[command]].ns_per_tick;
    const auto stalls = model_.Stalls(command);
    double left_ns = ns;
    for (int s = 0; s < device.about.stalls_size(); ++s) {
      if (StallKindOf(device.about, s) == proto::Device::STALL_WAIT) continue;
      const double stall_ns = std::min(left_ns, static_cast<double>(stalls[s]) * tick_ns);
      if (stall_ns <= 0) continue;
      Add(&causes_, unit + " stalled by " + device.about.stalls(s), "device", stall_ns, 0);
      left_ns -= stall_ns;
    }
    if (left_ns > 0) Add(&causes_, unit + " busy", "device", left_ns, 0);
    Add(&ops_, op, unit, ns, 0);
    const size_t dot = op.find('.');
    if (dot != std::string::npos && dot > 0) Add(&layers_, op.substr(0, dot), unit, ns, 0);
    Piece(op, unit, begin_ns, end_ns);
  }

  // How much later each node could have come, from the last one to come back.
  void Slack(const std::vector<uint32_t>& order) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> slack_ns(graph_.size(), kNever);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const uint32_t node = *it;
      if (node == graph_.last) slack_ns[node] = 0;
      for (uint32_t i = graph_.first_next[node]; i < graph_.first_next[node + 1]; ++i) {
        const uint32_t edge = graph_.next[i], to = graph_.to[edge];
        if (!graph_.Counts(edge, graph_.at_ns)) continue;
        // What is left between this edge's arrival and the moment that the next one began.
        double room_ns = 0;
        if (graph_.kind[to] != Kind::kEnd) {
          room_ns = std::max(0.0, graph_.at_ns[to] - graph_.cost_ns[to] - graph_.at_ns[node] -
                                      graph_.edge_ns[edge]);
        }
        slack_ns[node] = std::min(slack_ns[node], slack_ns[to] + room_ns);
      }
      // Nothing came after it: up to the run's end.
      if (slack_ns[node] == kNever) slack_ns[node] = graph_.RunNs() - graph_.at_ns[node];
    }
    std::map<std::pair<std::string, std::string>, OpSlack> ops;
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.kind[node] != Kind::kEnd) continue;
      const uint32_t command = graph_.row[node];
      const model::Device& device = model_.devices[model_.commands.device[command]];
      auto key =
          std::make_pair(model_.OpName(command), device.UnitName(model_.commands.unit[command]));
      if (ops.size() >= kMaxNamedRows && !ops.contains(key)) key.first = kOtherNames;
      OpSlack& op = ops[key];
      op.op = key.first, op.unit = key.second;
      op.least_ns = op.count == 0 ? slack_ns[node] : std::min(op.least_ns, slack_ns[node]);
      op.mean_ns += slack_ns[node];
      ++op.count;
      op.critical += critical_[node];
    }
    for (auto& [key, op] : ops) {
      op.mean_ns /= static_cast<double>(op.count);
      path_.slack.push_back(std::move(op));
    }
    std::stable_sort(path_.slack.begin(), path_.slack.end(), [](const auto& a, const auto& b) {
      return a.least_ns != b.least_ns ? a.least_ns < b.least_ns : a.mean_ns < b.mean_ns;
    });
  }

  static void Sort(std::map<std::string, PathShare>& shares, std::vector<PathShare>* sorted) {
    for (auto& [name, share] : shares) sorted->push_back(std::move(share));
    std::stable_sort(sorted->begin(), sorted->end(),
                     [](const PathShare& a, const PathShare& b) { return a.ns > b.ns; });
  }

  const model::Model& model_;
  const Graph& graph_;
  CriticalPath path_;
  std::vector<bool> critical_;
  std::map<std::string, PathShare> causes_, ops_, calls_, layers_;
};

}  // namespace

uint32_t LastEdge(const Graph& graph, uint32_t node) {
  uint32_t last = Graph::kNone;
  double last_ns = -1;
  for (uint32_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
    const double ns = graph.at_ns[graph.from[e]] + graph.edge_ns[e];
    if (ns > last_ns && graph.Counts(e, graph.at_ns)) last_ns = ns, last = e;
  }
  return last;
}

std::vector<PathNode> WalkPath(const Graph& graph) {
  std::vector<PathNode> path;
  double end_ns = graph.RunNs();
  for (uint32_t node = graph.last; node != Graph::kNone;) {
    PathNode at;
    at.node = node, at.edge = LastEdge(graph, node), at.end_ns = end_ns;
    at.from = at.edge == Graph::kNone ? Graph::kNone : graph.from[at.edge];
    // Clocks of host and device agree within their bounds only: the path never goes back.
    if (at.from != Graph::kNone) at.begin_ns = std::clamp(graph.at_ns[at.from], 0.0, end_ns);
    at.middle_ns = at.begin_ns;
    // All of a command is its own.
    if (at.edge != Graph::kNone && graph.kind[node] != Kind::kEnd) {
      at.middle_ns += std::min(end_ns - at.begin_ns, graph.edge_ns[at.edge]);
    }
    end_ns = at.begin_ns;
    node = at.from;
    path.push_back(at);
  }
  return path;
}

std::string PathCauseName(Cause cause) {
  return cause == kByOrder || cause == kByUnknown ? "not explained by the trace" : CauseName(cause);
}

CriticalPath ComputeCriticalPath(const model::Model& model, const Graph& graph) {
  return Path(model, graph).Run();
}

}  // namespace acceltrace::analysis
