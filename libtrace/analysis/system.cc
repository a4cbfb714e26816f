// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/system.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace acceltrace::analysis {
namespace {

std::vector<InterruptUse> ComputeInterrupts(const model::Interrupts& rows) {
  std::vector<InterruptUse> uses;
  uint32_t cpu = 0;
  for (size_t i = 0; i < rows.size(); ++i) {  // by (kind, number, cpu, end)
    const bool same =
        !uses.empty() && uses.back().kind == rows.kind[i] && uses.back().number == rows.number[i];
    if (!same) uses.push_back({rows.kind[i], rows.number[i]});
    InterruptUse& use = uses.back();
    if (!same || cpu != rows.cpu[i]) ++use.cpus;
    cpu = rows.cpu[i];
    use.name = rows.name[i];
    if (rows.device[i] != model::kNoRow) use.device = rows.device[i];
    use.count += rows.count[i];
    use.total_ns += rows.total_ns[i];
    use.longest_ns = std::max<uint64_t>(use.longest_ns, rows.longest_ns[i]);
    use.hits += rows.hits[i];
    use.hit_ns += rows.hit_ns[i];
  }
  std::stable_sort(uses.begin(), uses.end(), [](const InterruptUse& a, const InterruptUse& b) {
    return std::tie(a.hit_ns, a.total_ns) > std::tie(b.hit_ns, b.total_ns);
  });
  return uses;
}

std::vector<SystemCounterUse> ComputeCounterUse(const model::SystemTables& system) {
  std::vector<SystemCounterUse> uses;
  const model::SystemSamples& samples = system.samples;
  for (size_t i = 0; i < samples.size(); ++i) {  // by (counter, time)
    const uint64_t value = samples.value[i];
    if (uses.empty() || uses.back().counter != samples.counter[i]) {
      SystemCounterUse use;
      use.counter = samples.counter[i];
      use.begin_ns = samples.time_ns[i];
      use.first = use.last = use.least = use.most = value;
      uses.push_back(use);
    }
    SystemCounterUse& use = uses.back();
    ++use.samples;
    use.grown += value >= use.last ? value - use.last : value;
    use.end_ns = samples.time_ns[i];
    use.last = value;
    use.least = std::min(use.least, value);
    use.most = std::max(use.most, value);
  }
  return uses;
}

// The group of a process at a time; before the first time that it was recorded, that one.
class Groups {
 public:
  explicit Groups(const std::vector<model::ProcessGroup>& groups) : groups_(groups) {}

  uint32_t Of(uint32_t pid, int64_t at_ns) const {
    const auto key = std::make_pair(pid, at_ns);
    auto after = std::upper_bound(groups_.begin(), groups_.end(), key,
                                  [](const auto& wanted, const model::ProcessGroup& group) {
                                    return wanted < std::make_pair(group.pid, group.time_ns);
                                  });
    if (after != groups_.begin() && (after - 1)->pid == pid) return (after - 1)->group;
    return after != groups_.end() && after->pid == pid ? after->group : 0;
  }

 private:
  const std::vector<model::ProcessGroup>& groups_;
};

// Each group once, by id, group 0 first, with the number of its processes.
std::vector<GroupUse> ByGroup(const std::vector<model::ProcessGroup>& groups) {
  std::vector<std::pair<uint32_t, uint32_t>> members;
  members.reserve(groups.size());
  for (const model::ProcessGroup& group : groups) members.emplace_back(group.group, group.pid);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::vector<GroupUse> uses(1);
  for (const auto& [group, pid] : members) {
    if (uses.back().group != group) uses.emplace_back().group = group;
    ++uses.back().processes;
  }
  return uses;
}

std::vector<GroupUse> ComputeGroups(const model::Model& model) {
  if (model.system.groups.empty()) return {};
  const Groups groups(model.system.groups);
  std::vector<GroupUse> uses = ByGroup(model.system.groups);
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const int64_t at_ns = jobs.submit_ns[j] != model::kNoTime ? jobs.submit_ns[j] : model.begin_ns;
    const uint32_t of = groups.Of(model::ProcessOf(jobs, j), at_ns);
    GroupUse& use = *std::lower_bound(
        uses.begin(), uses.end(), of,
        [](const GroupUse& group, uint32_t wanted) { return group.group < wanted; });
    ++use.jobs;
    for (uint32_t c = jobs.first_command[j]; c < jobs.first_command[j] + jobs.num_commands[j];
         ++c) {
      const model::Device& device = model.devices[model.commands.device[c]];
      ++use.commands;
      use.device_ns += static_cast<double>(
          device.Duration(model.commands.start.At(c), model.commands.end.At(c)).mid_ns);
    }
  }
  if (uses[0].processes == 0 && uses[0].jobs == 0) uses.erase(uses.begin());
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto& a, const auto& b) { return a.device_ns > b.device_ns; });
  return uses;
}

}  // namespace

SystemUse ComputeSystem(const model::Model& model) {
  SystemUse use;
  use.threads = ComputeThreadUse(model);
  use.interrupts = ComputeInterrupts(model.system.interrupts);
  use.counters = ComputeCounterUse(model.system);
  use.groups = ComputeGroups(model);
  return use;
}

}  // namespace acceltrace::analysis
