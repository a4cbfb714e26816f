// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>

#include "libtrace/analysis/rows/names.h"

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

// Finds rows by a name with two parts. They are cached by the addresses of the parts, which do not
// change: assembling and looking up a name for each node would take most of the time.
template <typename Row>
class Known {
 public:
  template <typename Find>
  Row& Of(const void* first, const void* second, const Find& find) {
    Row*& row = rows_[{first, second}];
    if (row == nullptr) row = &find();
    return *row;
  }

 private:
  using Key = std::pair<const void*, const void*>;
  struct Hash {
    size_t operator()(const Key& key) const {
      const std::hash<const void*> hash;
      return hash(key.first) * 31 + hash(key.second);
    }
  };
  std::unordered_map<Key, Row*, Hash> rows_;
};

// Sums by name.
struct Shares {
  std::map<std::string, PathShare> by_name;
  Known<PathShare> known;

  // `name` is only called if the row is new.
  template <typename Name>
  void Add(const void* first, const void* second, const Name& name, const std::string& where,
           double ns, double tracer_ns) {
    PathShare& share = known.Of(first, second, [&]() -> PathShare& { return Find(name()); });
    share.where = where;
    ++share.count;
    share.ns += ns, share.tracer_ns += tracer_ns;
  }
  PathShare& Find(const std::string& name) {
    const bool full = by_name.size() >= kMaxNamedRows && !by_name.contains(name);
    PathShare& share = by_name[full ? kOtherNames : name];
    share.name = full ? kOtherNames : name;
    return share;
  }
};

class Path {
 public:
  Path(const model::Model& model, const Graph& graph) : model_(model), graph_(graph) {
    for (int cause = 0; cause < kNumCauses; ++cause) {
      names_[cause] = PathCauseName(static_cast<Cause>(cause));
      wheres_[cause] = WhereOf(static_cast<Cause>(cause));
    }
  }

  CriticalPath Run() {
    CriticalPath& path = path_;
    path.nodes = graph_.size();
    if (graph_.size() == 0) {
      path.error = "the trace holds no work of a device";
    } else if (!FindSlack()) {
      path.error = "the trace contradicts itself: events wait for each other in a circle";
    } else {
      path.valid = true;
      path.run_ns = graph_.RunNs();
      critical_.assign(graph_.size(), false);
      Walk();
      SlackOfOps();
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
    const std::string& name = names_[cause];
    const std::string& where = wheres_[cause];
    causes_.Add(
        &name, nullptr, [&] { return name; }, where, ns, tracer_ns);
    const std::string* piece = &name;
    if (graph_.kind[node] == Kind::kHost) {
      const uint32_t call = graph_.points[graph_.row[node]].api_row;
      if (call != model::kNoRow) {
        const std::string& called = model_.strings.Get(model_.api.name[call]);
        if (cause != kByProgram && !called.empty()) {
          calls_.Add(
              &called, nullptr, [&] { return called; }, where, ns, tracer_ns);
          piece = &called;
        }
      }
    }
    Piece(*piece, where, begin_ns, end_ns);
  }

  // Splits the time of a command on the path into its stalls and the rest.
  void Command(uint32_t command, double begin_ns, double end_ns) {
    const double ns = end_ns - begin_ns;
    const model::Device& device = model_.devices[model_.commands.device[command]];
    const std::string& unit = device.UnitName(model_.commands.unit[command]);
    const std::string& op = model_.OpName(command);
    const double tick_ns = graph_.rates[model_.commands.device[command]].ns_per_tick;
    const auto stalls = model_.Stalls(command);
    double left_ns = ns;
    for (int s = 0; s < device.about.stalls_size(); ++s) {
      if (StallKindOf(device.about, s) == proto::Device::STALL_WAIT) continue;
      const double stall_ns = std::min(left_ns, static_cast<double>(stalls[s]) * tick_ns);
      if (stall_ns <= 0) continue;
      const std::string& stall = device.about.stalls(s);
      causes_.Add(
          &unit, &stall, [&] { return unit + " stalled by " + stall; }, device_, stall_ns, 0);
      left_ns -= stall_ns;
    }
    if (left_ns > 0) {
      causes_.Add(
          &unit, nullptr, [&] { return unit + " busy"; }, device_, left_ns, 0);
    }
    ops_.Add(
        &op, nullptr, [&] { return op; }, unit, ns, 0);
    const size_t dot = op.find('.');
    if (dot != std::string::npos && dot > 0) {
      layers_.Add(
          &op, nullptr, [&] { return op.substr(0, dot); }, unit, ns, 0);
    }
    Piece(op, unit, begin_ns, end_ns);
  }

  // Computes by how much later each node could have come, starting from nodes for which nothing
  // waits. Returns false if the graph has a cycle.
  bool FindSlack() {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    slack_ns_.assign(graph_.size(), kNever);
    if (graph_.last != Graph::kNone) slack_ns_[graph_.last] = 0;
    std::vector<uint32_t> waiting(graph_.size()), ready;
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      waiting[node] = graph_.first_next[node + 1] - graph_.first_next[node];
      if (waiting[node] == 0) ready.push_back(node);
    }
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      const uint32_t node = ready.back();
      ready.pop_back();
      const double at_ns = graph_.at_ns[node];
      // Nothing followed it, so it has until the end of the run.
      if (slack_ns_[node] == kNever) slack_ns_[node] = graph_.RunNs() - at_ns;
      for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        const uint32_t from = graph_.from[e];
        if (graph_.Counts(e, graph_.at_ns)) {
          // The slack of this edge: from its arrival until the node began.
          double room_ns = 0;
          if (graph_.kind[node] != Kind::kEnd) {
            room_ns = std::max(
                0.0, at_ns - graph_.cost_ns[node] - graph_.at_ns[from] - graph_.edge_ns[e]);
          }
          slack_ns_[from] = std::min(slack_ns_[from], slack_ns_[node] + room_ns);
        }
        if (--waiting[from] == 0) ready.push_back(from);
      }
    }
    return done == graph_.size();
  }

  void SlackOfOps() {
    std::map<std::pair<std::string, std::string>, OpSlack> ops;
    Known<OpSlack> known;
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.kind[node] != Kind::kEnd) continue;
      const uint32_t command = graph_.row[node];
      const std::string& name = model_.OpName(command);
      const std::string& unit =
          model_.devices[model_.commands.device[command]].UnitName(model_.commands.unit[command]);
      OpSlack& op = known.Of(&name, &unit, [&]() -> OpSlack& {
        auto key = std::make_pair(name, unit);
        if (ops.size() >= kMaxNamedRows && !ops.contains(key)) key.first = kOtherNames;
        OpSlack& row = ops[key];
        row.op = key.first, row.unit = key.second;
        return row;
      });
      op.least_ns = op.count == 0 ? slack_ns_[node] : std::min(op.least_ns, slack_ns_[node]);
      op.mean_ns += slack_ns_[node];
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

  static void Sort(Shares& shares, std::vector<PathShare>* sorted) {
    for (auto& [name, share] : shares.by_name) sorted->push_back(std::move(share));
    std::stable_sort(sorted->begin(), sorted->end(),
                     [](const PathShare& a, const PathShare& b) { return a.ns > b.ns; });
  }

  const model::Model& model_;
  const Graph& graph_;
  CriticalPath path_;
  std::vector<bool> critical_;
  std::vector<double> slack_ns_;
  Shares causes_, ops_, calls_, layers_;
  const std::string device_ = "device";
  std::array<std::string, kNumCauses> names_, wheres_;  // by cause
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
    // The clocks of host and device only agree within their bounds; make sure that the path never
    // goes back.
    if (at.from != Graph::kNone) at.begin_ns = std::clamp(graph.at_ns[at.from], 0.0, end_ns);
    at.middle_ns = at.begin_ns;
    // The whole time of a command is its own.
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
