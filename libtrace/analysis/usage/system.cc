// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/system.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "libtrace/model/tables/job_owners.h"

namespace acceltrace::analysis {
namespace {

Listed<InterruptUse> ComputeInterrupts(const model::Interrupts& rows) {
  const auto costlier = [](const InterruptUse& a, const InterruptUse& b) {
    return std::tie(a.hit_ns, a.total_ns) > std::tie(b.hit_ns, b.total_ns);
  };
  Foremost<InterruptUse, decltype(costlier)> uses(costlier);
  InterruptUse use;
  for (size_t i = 0; i < rows.size(); ++i) {  // by (kind, number, cpu, end)
    const bool same = i > 0 && use.kind == rows.kind[i] && use.number == rows.number[i];
    if (!same && i > 0) uses.Add(use);
    if (!same) use = {rows.kind[i], rows.number[i]};
    if (!same || rows.cpu[i] != rows.cpu[i - 1]) ++use.cpus;
    use.name = rows.name[i];
    if (rows.device[i] != model::kNoRow) use.device = rows.device[i];
    use.count += rows.count[i];
    use.total_ns += rows.total_ns[i];
    use.longest_ns = std::max<uint64_t>(use.longest_ns, rows.longest_ns[i]);
    use.hits += rows.hits[i];
    use.hit_ns += rows.hit_ns[i];
  }
  if (rows.size() > 0) uses.Add(use);
  return uses.Done();
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

// Finds the group of a process at a time. Before the first recorded time, it is assumed to be that
// of the first one.
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

// Returns the processes of each group, sorted by group.
std::vector<std::pair<uint32_t, uint32_t>> MembersOf(
    const std::vector<model::ProcessGroup>& groups) {
  std::vector<std::pair<uint32_t, uint32_t>> members;
  members.reserve(groups.size());
  for (const model::ProcessGroup& group : groups) members.emplace_back(group.group, group.pid);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

// Sums up the work on devices by group, including group 0.
std::map<uint32_t, GroupUse> WorkByGroup(const model::Model& model) {
  const Groups groups(model.system.groups);
  std::map<uint32_t, GroupUse> uses = {{0, {}}};
  const model::Jobs& jobs = model.jobs;
  model::JobOwners owners(model);
  for (size_t j = 0; j < jobs.size(); ++j) {
    const int64_t at_ns = jobs.submit_ns[j] != model::kNoTime ? jobs.submit_ns[j] : model.begin_ns;
    GroupUse& use = uses[groups.Of(owners.Of(j), at_ns)];
    ++use.jobs;
    for (uint32_t c = jobs.first_command[j]; c < jobs.first_command[j] + jobs.num_commands[j];
         ++c) {
      const model::Device& device = model.devices[model.commands.device[c]];
      ++use.commands;
      use.device_ns += static_cast<double>(
          device.Duration(model.commands.start.At(c), model.commands.end.At(c)).mid_ns);
    }
  }
  return uses;
}

void ComputeGroups(const model::Model& model, SystemUse* system) {
  if (model.system.groups.empty()) return;
  const auto longer = [](const auto& a, const auto& b) { return a.device_ns > b.device_ns; };
  Foremost<GroupUse, decltype(longer)> uses(longer);
  const auto works = WorkByGroup(model);
  const auto members = MembersOf(model.system.groups);
  size_t at = 0;
  const auto add = [&](uint32_t group) {
    const auto work = works.find(group);
    GroupUse use = work == works.end() ? GroupUse() : work->second;
    use.group = group;
    for (; at < members.size() && members[at].first == group; ++at) ++use.processes;
    if (group != 0 || use.processes > 0 || use.jobs > 0) uses.Add(use);
    system->groups_device_ns += use.device_ns;
  };
  add(0);
  while (at < members.size()) add(members[at].first);
  system->groups = uses.Done();
}

}  // namespace

SystemUse ComputeSystem(const model::Model& model) {
  SystemUse use;
  use.threads = ComputeThreadUse(model);
  use.interrupts = ComputeInterrupts(model.system.interrupts);
  use.counters = ComputeCounterUse(model.system);
  ComputeGroups(model, &use);
  return use;
}

}  // namespace acceltrace::analysis
