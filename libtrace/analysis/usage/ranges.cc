// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/ranges.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/names.h"

namespace acceltrace::analysis {
namespace {

uint64_t Thread(uint32_t pid, uint32_t tid) { return (static_cast<uint64_t>(pid) << 32) | tid; }

// Returns for each range the one that it is in, or kNoRow. Ranges of a thread are visited in the
// order of their ends, inner ones first. Each one adopts the deeper ones that began in it and have
// no parent yet; times alone do not decide if they are equal. If a parent was lost, its children
// belong to the next outer range.
std::vector<uint32_t> FindParents(const model::Ranges& ranges) {
  std::vector<uint32_t> order;
  for (uint32_t r = 0; r < ranges.size(); ++r) {
    if (!ranges.mark[r]) order.push_back(r);
  }
  const auto thread = [&](uint32_t r) { return Thread(ranges.pid[r], ranges.tid[r]); };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (thread(a) != thread(b)) return thread(a) < thread(b);
    return std::make_tuple(ranges.end_ns[a], ranges.depth[b], ranges.begin_ns[b]) <
           std::make_tuple(ranges.end_ns[b], ranges.depth[a], ranges.begin_ns[a]);
  });
  std::vector<uint32_t> parents(ranges.size(), model::kNoRow);
  std::vector<uint32_t> ended;  // ranges of the thread that ended and have no parent
  uint64_t of = 0;
  for (uint32_t r : order) {
    if (of != thread(r)) ended.clear();
    of = thread(r);
    // Children of the range are at the end: a range that ended before this one began cannot be a
    // child. Damaged data may have any number of others, so these are limited.
    constexpr size_t kMostOthers = 64;
    std::vector<uint32_t> others;
    while (!ended.empty() && ranges.end_ns[ended.back()] >= ranges.begin_ns[r] &&
           others.size() < kMostOthers) {
      const uint32_t child = ended.back();
      ended.pop_back();
      if (ranges.depth[child] > ranges.depth[r] && ranges.begin_ns[child] >= ranges.begin_ns[r]) {
        parents[child] = r;
      } else {
        others.push_back(child);
      }
    }
    ended.insert(ended.end(), others.rbegin(), others.rend());
    ended.push_back(r);
  }
  return parents;
}

// Adds to the work of the same unit. Both lists are short and sorted by device and unit.
void AddWork(const UnitWork& work, std::vector<UnitWork>* units) {
  const auto at = std::lower_bound(units->begin(), units->end(), work,
                                   [](const UnitWork& a, const UnitWork& b) {
                                     return std::tie(a.device, a.unit) < std::tie(b.device, b.unit);
                                   });
  if (at != units->end() && at->device == work.device && at->unit == work.unit) {
    *at += work;
  } else {
    units->insert(at, work);
  }
}

// The work of a call's jobs on devices.
struct CallWork {
  uint64_t jobs = 0, commands = 0;
  std::vector<UnitWork> units;
};

// Columns of commands, read in order.
struct WorkColumns {
  explicit WorkColumns(const model::Commands& commands)
      : unit(commands.unit),
        work(commands.work),
        bytes(commands.bytes),
        memory_bytes(commands.memory_bytes),
        start(commands.start),
        end(commands.end) {}
  Cursor<uint32_t> unit;
  Cursor<uint64_t> work, bytes, memory_bytes;
  MarkCursor start, end;
};

// The key is the row of a call with jobs.
std::unordered_map<uint32_t, CallWork> WorkByCall(const model::Model& model) {
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  std::unordered_map<uint32_t, CallWork> work;
  const model::Jobs& jobs = model.jobs;
  const auto columns = std::make_unique<WorkColumns>(model.commands);
  for (size_t j = 0; j < jobs.size(); ++j) {
    const uint32_t call_row = jobs.api_row[j], device = jobs.device[j];
    if (call_row == model::kNoRow) continue;
    CallWork& call = work[call_row];
    const uint32_t first = jobs.first_command[j], count = jobs.num_commands[j];
    ++call.jobs;
    call.commands += count;
    for (size_t row = first; row < size_t{first} + count; ++row) {
      const Amount time = times[device].Elapsed(columns->start[row], columns->end[row]);
      AddWork({device, columns->unit[row], 1, columns->work[row], columns->bytes[row],
               columns->memory_bytes[row], time},
              &call.units);
    }
  }
  return work;
}

// Returns each name once.
std::vector<std::string_view> NamesOf(const model::Model& model) {
  std::vector<uint32_t> ids(model.ranges.name.begin(), model.ranges.name.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::string_view> names;
  names.reserve(ids.size());
  for (const uint32_t id : ids) names.push_back(model.strings.Get(id));
  return names;
}

// Merges ranges to a tree by their names.
class Tree {
 public:
  Tree(const model::Model& model, bool fold) : model_(model), node_of_(model.ranges.size()) {
    const model::Ranges& ranges = model.ranges;
    const NameGroups groups(fold, NamesOf(model));
    const std::vector<uint32_t> parents = FindParents(ranges);
    std::map<std::pair<uint32_t, std::string>, uint32_t> nodes;  // by parent and name
    // Ranges are sorted by begin, outer ones first, so that a parent comes before its children.
    for (uint32_t r = 0; r < ranges.size(); ++r) {
      if (ranges.mark[r]) continue;
      const uint32_t parent = parents[r] == model::kNoRow ? model::kNoRow : node_of_[parents[r]];
      // Compare texts, since two processes have different strings for the same name.
      std::pair<uint32_t, std::string> key(parent, groups.Of(model.strings.Get(ranges.name[r])));
      if (uses_.size() >= kMaxNamedRows && !nodes.contains(key)) {
        key = {model::kNoRow, kOtherNames};
      }
      const auto [node, fresh] = nodes.try_emplace(key, static_cast<uint32_t>(uses_.size()));
      node_of_[r] = node->second;
      if (fresh) {
        RangeUse& use = uses_.emplace_back();
        use.name = key.second;
        use.parent = key.first;
        use.depth = use.parent == model::kNoRow ? 0 : uses_[use.parent].depth + 1;
      }
      RangeUse& use = uses_[node->second];
      const int64_t length_ns = ranges.end_ns[r] - ranges.begin_ns[r];
      ++use.count;
      use.host_ns += length_ns;
      use.longest_ns = std::max(use.longest_ns, length_ns);
    }
  }

  // Credits a call's work to each range that is open in its thread when the call begins, but only
  // once for each node.
  void Credit() {
    const model::Ranges& ranges = model_.ranges;
    if (ranges.size() == 0) return;
    const auto works = WorkByCall(model_);
    // Threads that made such calls.
    std::unordered_map<uint64_t, std::vector<size_t>> open;
    for (const auto& [call, work] : works) open[ThreadOfCall(call)];
    size_t next = 0;
    for (size_t call = 0; call < model_.api.size(); ++call) {
      const int64_t at_ns = model_.api.begin_ns[call];
      for (; next < ranges.size() && ranges.begin_ns[next] <= at_ns; ++next) {
        if (ranges.mark[next]) continue;
        const auto thread = open.find(Thread(ranges.pid[next], ranges.tid[next]));
        if (thread == open.end()) continue;
        // No program nests more deeply; beyond that, the outermost ranges get no work.
        constexpr size_t kMaxNested = 64;
        auto& stack = thread->second;
        if (stack.size() >= kMaxNested) {
          std::erase_if(stack, [&](size_t r) { return ranges.end_ns[r] < ranges.begin_ns[next]; });
        }
        if (stack.size() >= kMaxNested) stack.erase(stack.begin());
        stack.push_back(next);
      }
      const auto found = works.find(static_cast<uint32_t>(call));
      if (found == works.end()) continue;
      const CallWork& work = found->second;
      auto& stack = open[ThreadOfCall(call)];
      std::erase_if(stack, [&](size_t r) { return ranges.end_ns[r] < at_ns; });
      std::set<uint32_t> credited;
      for (size_t r : stack) {
        if (!credited.insert(node_of_[r]).second) continue;
        RangeUse& use = uses_[node_of_[r]];
        use.jobs += work.jobs;
        use.commands += work.commands;
        for (const UnitWork& unit : work.units) {
          use.device += unit.time;
          AddWork(unit, &use.units);
        }
      }
    }
  }

  uint64_t ThreadOfCall(size_t call) const {
    return Thread(model_.api.pid[call], model_.api.tid[call]);
  }

  std::vector<RangeUse> InOrder(std::vector<uint32_t>* part_of) const {
    std::vector<std::vector<uint32_t>> children(uses_.size());
    std::vector<uint32_t> stack;
    for (uint32_t node = 0; node < uses_.size(); ++node) {
      const uint32_t parent = uses_[node].parent;
      (parent == model::kNoRow ? stack : children[parent]).push_back(node);
    }
    const auto shortest_first = [&](std::vector<uint32_t>* nodes) {
      std::sort(nodes->begin(), nodes->end(), [&](uint32_t a, uint32_t b) {
        return std::tie(uses_[a].host_ns, uses_[b].name) <
               std::tie(uses_[b].host_ns, uses_[a].name);
      });
    };
    shortest_first(&stack);
    std::vector<RangeUse> result;
    std::vector<uint32_t> position(uses_.size());
    while (!stack.empty()) {
      const uint32_t node = stack.back();
      stack.pop_back();
      position[node] = static_cast<uint32_t>(result.size());
      RangeUse use = uses_[node];
      if (use.parent != model::kNoRow) use.parent = position[use.parent];
      result.push_back(std::move(use));
      shortest_first(&children[node]);
      stack.insert(stack.end(), children[node].begin(), children[node].end());
    }
    if (part_of != nullptr) {
      part_of->assign(node_of_.size(), model::kNoRow);
      for (size_t r = 0; r < node_of_.size(); ++r) {
        if (!model_.ranges.mark[r]) (*part_of)[r] = position[node_of_[r]];
      }
    }
    return result;
  }

 private:
  const model::Model& model_;
  std::vector<uint32_t> node_of_;  // by row of the model's ranges
  std::vector<RangeUse> uses_;
};

}  // namespace

UnitWork& UnitWork::operator+=(const UnitWork& other) {
  commands += other.commands, work += other.work;
  bytes += other.bytes, memory_bytes += other.memory_bytes;
  time += other.time;
  return *this;
}

std::vector<RangeUse> ComputeRanges(const model::Model& model, bool fold,
                                    std::vector<uint32_t>* part_of) {
  Tree tree(model, fold);
  tree.Credit();
  return tree.InOrder(part_of);
}

}  // namespace acceltrace::analysis
