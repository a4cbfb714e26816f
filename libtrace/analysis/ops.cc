// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/ops.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "libtrace/analysis/names.h"

namespace acceltrace::analysis {
namespace {

const std::string& OpName(const model::Model& model, size_t command) {
  const std::string& op = model.strings.Get(model.commands.op[command]);
  if (!op.empty()) return op;
  return model.devices[model.commands.device[command]].OpcodeName(model.commands.opcode[command]);
}

// Names to the names of their groups: themselves when nothing is folded.
class Groups {
 public:
  Groups(bool fold, const std::vector<std::string>& names) {
    if (fold) groups_ = FoldNames(names);
  }
  const std::string& Of(const std::string& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? name : found->second;
  }

 private:
  std::map<std::string, std::string> groups_;
};

}  // namespace

std::vector<OpUse> ComputeOps(const model::Model& model, bool fold) {
  const model::Commands& commands = model.commands;
  std::set<std::string> names;
  for (size_t i = 0; i < commands.size(); ++i) names.insert(OpName(model, i));
  const Groups groups(fold, {names.begin(), names.end()});
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpUse> by_key;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, std::map<uint32_t, uint64_t>> limiters;
  std::vector<Span> device_time(model.devices.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    const model::Device& device = model.devices[commands.device[i]];
    const std::string& name = groups.Of(OpName(model, i));
    auto key = std::make_tuple(commands.device[i], commands.unit[i], name);
    if (by_key.size() >= kMaxNamedRows && !by_key.contains(key)) std::get<2>(key) = kOtherNames;
    OpUse& use = by_key[key];
    const Span time = OnDevice(device, commands.start.ticks[i], commands.end.ticks[i]);
    ++use.count;
    use.failed += commands.status[i] != 0;
    use.work += commands.work[i];
    use.bytes += commands.bytes[i];
    use.memory_bytes += commands.memory_bytes[i];
    use.time += time;
    if (time.mid_ns > use.longest.mid_ns) use.longest = time;
    use.busy_ticks += model.BusyTicks(i);
    use.held_ticks += commands.end.ticks[i] - commands.head.ticks[i];
    ++limiters[key][commands.limiter[i]];
    device_time[commands.device[i]] += time;
  }
  std::vector<OpUse> ops;
  for (auto& [key, use] : by_key) {
    const auto& [device_row, unit, name] = key;
    const model::Device& device = model.devices[device_row];
    use.device = device_row;
    use.name = name;
    use.unit = device.UnitName(unit);
    const auto& counts = limiters[key];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    use.limiter = device.LimiterName(most->first);
    const int64_t total_ns = device_time[device_row].mid_ns;
    if (total_ns > 0)
      use.share = static_cast<double>(use.time.mid_ns) / static_cast<double>(total_ns);
    if (use.time.mid_ns > 0) {
      use.work_per_s = static_cast<double>(use.work) * 1e9 / static_cast<double>(use.time.mid_ns);
    }
    const double peak = device.about.units(static_cast<int>(unit)).peak_work_per_s();
    if (peak > 0) use.peak_share = use.work_per_s / peak;
    ops.push_back(std::move(use));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpUse& a, const OpUse& b) { return a.time.mid_ns > b.time.mid_ns; });
  return ops;
}

namespace {

// What a call's jobs did on devices.
struct CallWork {
  uint64_t jobs = 0, commands = 0;
  Span device;
};

std::vector<CallWork> WorkByCall(const model::Model& model) {
  std::vector<CallWork> work(model.api.size());
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.api_row[j] == model::kNoRow) continue;
    CallWork& call = work[jobs.api_row[j]];
    ++call.jobs;
    call.commands += jobs.num_commands[j];
    for (uint32_t c = 0; c < jobs.num_commands[j]; ++c) {
      const size_t row = jobs.first_command[j] + c;
      call.device += OnDevice(model.devices[jobs.device[j]], model.commands.start.ticks[row],
                              model.commands.end.ticks[row]);
    }
  }
  return work;
}

}  // namespace

std::vector<RangeUse> ComputeRanges(const model::Model& model, bool fold) {
  const model::Ranges& ranges = model.ranges;
  std::set<std::string> names;
  for (uint32_t name : ranges.name) names.insert(model.strings.Get(name));
  const Groups groups(fold, {names.begin(), names.end()});
  // By text: two processes' names of one range are two strings.
  std::map<std::pair<uint32_t, std::string>, RangeUse> uses;
  const auto use_of = [&](size_t r) -> RangeUse& {
    std::pair<uint32_t, std::string> key(ranges.depth[r],
                                         groups.Of(model.strings.Get(ranges.name[r])));
    if (uses.size() >= kMaxNamedRows && !uses.contains(key)) key = {0, kOtherNames};
    return uses[key];
  };
  for (size_t r = 0; r < ranges.size(); ++r) {
    if (ranges.mark[r]) continue;
    RangeUse& use = use_of(r);
    const int64_t length_ns = ranges.end_ns[r] - ranges.begin_ns[r];
    ++use.count;
    use.host_ns += length_ns;
    use.longest_ns = std::max(use.longest_ns, length_ns);
  }
  // Calls and ranges of a thread, both by begin: a stack of open ranges.
  const std::vector<CallWork> work = WorkByCall(model);
  std::map<uint64_t, std::vector<size_t>> open;  // by (pid, tid)
  const auto thread = [](uint32_t pid, uint32_t tid) {
    return (static_cast<uint64_t>(pid) << 32) | tid;
  };
  size_t next = 0;
  for (size_t call = 0; call < model.api.size(); ++call) {
    const int64_t at_ns = model.api.begin_ns[call];
    for (; next < ranges.size() && ranges.begin_ns[next] <= at_ns; ++next) {
      if (ranges.mark[next]) continue;
      // No program nests deeper; the outermost ones go without.
      constexpr size_t kMaxNested = 64;
      auto& stack = open[thread(ranges.pid[next], ranges.tid[next])];
      if (stack.size() >= kMaxNested) {
        std::erase_if(stack, [&](size_t r) { return ranges.end_ns[r] < ranges.begin_ns[next]; });
      }
      if (stack.size() >= kMaxNested) stack.erase(stack.begin());
      stack.push_back(next);
    }
    if (work[call].jobs == 0) continue;
    auto& stack = open[thread(model.api.pid[call], model.api.tid[call])];
    std::erase_if(stack, [&](size_t r) { return ranges.end_ns[r] < at_ns; });
    std::set<RangeUse*> credited;
    for (size_t r : stack) {
      RangeUse* use = &use_of(r);
      if (!credited.insert(use).second) continue;
      use->jobs += work[call].jobs;
      use->commands += work[call].commands;
      use->device += work[call].device;
    }
  }
  std::vector<RangeUse> result;
  for (auto& [key, use] : uses) {
    use.depth = key.first;
    use.name = key.second;
    result.push_back(std::move(use));
  }
  std::stable_sort(result.begin(), result.end(), [](const RangeUse& a, const RangeUse& b) {
    return std::tie(a.depth, b.host_ns, a.name) < std::tie(b.depth, a.host_ns, b.name);
  });
  return result;
}

}  // namespace acceltrace::analysis
