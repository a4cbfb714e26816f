// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/select.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "libtrace/model/part/cut.h"
#include "libtrace/model/tables/container.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/job_owners.h"
#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/wanted.h"

namespace acceltrace::model {
namespace {

using Mask = std::vector<uint8_t>;

// Returns "a, b, c and 4 more" if a list is too long for a message.
template <typename Names>
std::string Listed(const Names& names) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kMost) return text + " and " + std::to_string(names.size() - kMost) + " more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

bool MatchesAny(std::string_view text, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesGlob(text, pattern); });
}

class Selector {
 public:
  Selector(const Selection& selection, const AboutPart& about, Model* model)
      : asked_(selection), about_(about), model_(*model) {}

  Status Run() {
    const int64_t origin_ns = asked_.origin_ns.value_or(model_.begin_ns);
    if (asked_.from_ns) from_ns_ = origin_ns + *asked_.from_ns;
    if (asked_.to_ns) to_ns_ = origin_ns + *asked_.to_ns;
    for (auto find : {&Selector::FindDevices, &Selector::FindProcesses, &Selector::FindContainers,
                      &Selector::FindStreams, &Selector::FindRanges}) {
      const Status status = (this->*find)();
      if (!status.ok()) return status;
    }
    MarkCalls();
    if (const Status status = MarkJobs(); !status.ok()) return status;
    MarkWhatJobsNeed();
    Kept kept;
    kept.devices = devices_;
    kept.api = api_, kept.ranges = ranges_, kept.jobs = jobs_, kept.host = MarkHost();
    kept.commands = MarkCommands();
    kept.device_events = MarkDeviceEvents();
    kept.others = MarkOthers();
    kept.process_events = MarkProcessEvents();
    kept.runs = MarkRuns();
    kept.groups = MarkGroups();
    kept.counters.resize(model_.devices.size());
    for (size_t d = 0; d < model_.devices.size(); ++d) kept.counters[d] = MarkCounters(d);
    const uint64_t before = CountRows(model_);
    if (about_.wanted != nullptr) Forget(*about_.wanted, &model_);
    Remove(kept, &model_);
    model_.cut.of = before;
    model_.cut.rows = CountRows(model_);
    model_.cut.by_job = ByJob();
    model_.cut.text = Text();
    if (asked_.from_ns) model_.begin_ns = std::max(model_.begin_ns, from_ns_);
    if (asked_.to_ns) model_.end_ns = std::max(model_.begin_ns, std::min(model_.end_ns, to_ns_));
    return {};
  }

 private:
  bool ByJob() const {
    return asked_.by_process() || !asked_.ranges.empty() || !asked_.streams.empty();
  }
  bool Overlaps(int64_t begin_ns, int64_t end_ns) const {
    return begin_ns <= to_ns_ && end_ns >= from_ns_;
  }
  bool ProcessIn(uint32_t pid) const { return !asked_.by_process() || pids_.count(pid) != 0; }
  bool DeviceIn(uint32_t device) const { return device != kNoRow && devices_[device]; }

  Status FindDevices() {
    devices_.assign(model_.devices.size(), asked_.devices.empty());
    if (asked_.devices.empty()) return {};
    std::set<std::string> names;
    bool any = false;
    for (size_t d = 0; d < model_.devices.size(); ++d) {
      const proto::Device& about = model_.devices[d].about;
      names.insert(about.name());
      devices_[d] = MatchesAny(about.name(), asked_.devices) ||
                    MatchesAny(about.pci().address(), asked_.devices);
      any = any || devices_[d];
    }
    if (any) return {};
    return Status::Error("no such device as " + asked_.devices.front() +
                         " in the trace; there are: " + Listed(names));
  }

  Status FindProcesses() {
    if (asked_.processes.empty()) return {};
    std::set<std::string> names;
    const auto see = [&](uint32_t pid, const std::string& name) {
      if (pid == 0) return;
      names.insert(std::to_string(pid) + (name.empty() ? "" : " (" + name + ")"));
      if (MatchesAny(std::to_string(pid), asked_.processes) ||
          (!name.empty() && MatchesAny(name, asked_.processes))) {
        pids_.insert(pid);
      }
    };
    for (const Process& process : model_.processes) {
      if (process.pid == process.tid) see(process.pid, model_.strings.Get(process.name));
    }
    std::unordered_set<uint32_t> seen;
    const auto once = [&](uint32_t pid) {
      if (seen.insert(pid).second) see(pid, model_.ProcessName(pid));
    };
    for (const uint32_t pid : model_.api.pid) once(pid);
    for (size_t j = 0; j < model_.jobs.size(); ++j) once(owners_.Of(j));
    if (!pids_.empty()) return {};
    return Status::Error("no such process as " + asked_.processes.front() +
                         " in the trace; there are: " + Listed(names));
  }

  // Restricts the processes found, or all, to those that were in the containers at any time.
  Status FindContainers() {
    if (asked_.containers.empty()) return {};
    const std::string none = "no such container as " + asked_.containers.front() + " in the trace";
    if (model_.system.groups.empty()) {
      return Status::Error(none + ", which has no control groups: record with --sources cgroup");
    }
    std::map<std::string, std::vector<uint32_t>> members;
    for (const ProcessGroup& group : model_.system.groups) {
      if (group.pid == 0) continue;  // jobs of unknown processes have it, too
      if (!asked_.processes.empty() && pids_.count(group.pid) == 0) continue;
      std::string container = ContainerOf(model_.strings.Get(group.group));
      if (!container.empty()) members[std::move(container)].push_back(group.pid);
    }
    pids_.clear();
    for (const std::string& asked : asked_.containers) {
      std::set<std::string> meant;
      for (const auto& [container, pids] : members) {
        if (MayMean(asked, container)) meant.insert(container);
      }
      if (meant.count(asked) != 0) meant = {asked};
      if (meant.size() > 1) {
        return Status::Error("container " + asked + " may be any of: " + Listed(meant) +
                             "; give more of its id");
      }
      for (const std::string& one : meant) pids_.insert(members[one].begin(), members[one].end());
    }
    if (!pids_.empty()) return {};
    std::set<std::string> names;
    for (const auto& [container, pids] : members) names.insert(ShortContainer(container));
    return Status::Error(none + "; there are: " + Listed(names));
  }

  Status FindStreams() {
    if (asked_.streams.empty()) return {};
    std::set<uint32_t> streams;
    for (const uint32_t stream : model_.api.stream) streams.insert(stream);
    for (const uint32_t asked : asked_.streams) {
      if (streams.count(asked) != 0) return {};
    }
    std::vector<std::string> names;  // sorted by number
    for (const uint32_t stream : streams) names.push_back(std::to_string(stream));
    return Status::Error("no such stream as " + std::to_string(asked_.streams.front()) +
                         " in the trace; there are: " + Listed(names));
  }

  // Finds ranges by name and what is inside of them, then the periods of each thread.
  Status FindRanges() {
    const Ranges& ranges = model_.ranges;
    ranges_.assign(ranges.size(), 1);
    if (!asked_.ranges.empty()) {
      std::set<std::string> names;
      std::unordered_map<uint32_t, bool> matches;  // by string id
      for (size_t r = 0; r < ranges.size(); ++r) {
        const auto [known, fresh] = matches.try_emplace(ranges.name[r], false);
        if (fresh) {
          known->second = MatchesAny(model_.strings.Get(ranges.name[r]), asked_.ranges);
        }
        if (ProcessIn(ranges.pid[r])) names.insert(model_.strings.Get(ranges.name[r]));
        if (!known->second || ranges.mark[r] || !ProcessIn(ranges.pid[r])) continue;
        auto& spans = inside_[ranges.tid[r]];
        // They are sorted by begin; overlapping ones are merged.
        if (!spans.empty() && ranges.begin_ns[r] <= spans.back().second) {
          spans.back().second = std::max(spans.back().second, ranges.end_ns[r]);
        } else {
          spans.emplace_back(ranges.begin_ns[r], ranges.end_ns[r]);
        }
      }
      if (inside_.empty()) {
        return Status::Error("no such range as " + asked_.ranges.front() +
                             " in the trace; there are: " + Listed(names));
      }
    }
    for (size_t r = 0; r < ranges.size(); ++r) {
      ranges_[r] = ProcessIn(ranges.pid[r]) && Inside(ranges.tid[r], ranges.begin_ns[r]) &&
                   Overlaps(ranges.begin_ns[r], ranges.end_ns[r]);
    }
    return {};
  }

  // Returns true if a thread was in one of the ranges.
  bool Inside(uint32_t tid, int64_t at_ns) const {
    if (asked_.ranges.empty()) return true;
    const auto found = inside_.find(tid);
    if (found == inside_.end()) return false;
    auto after = std::upper_bound(found->second.begin(), found->second.end(),
                                  std::make_pair(at_ns, INT64_MAX));
    return after != found->second.begin() && (--after)->second >= at_ns;
  }

  // Marks calls by their own properties; their devices are those of their jobs.
  void MarkCalls() {
    const ApiCalls& api = model_.api;
    api_.assign(api.size(), 0);
    chosen_.assign(api.size(), 0);
    for (size_t i = 0; i < api.size(); ++i) {
      const bool stream = asked_.streams.empty() ||
                          std::find(asked_.streams.begin(), asked_.streams.end(), api.stream[i]) !=
                              asked_.streams.end();
      chosen_[i] = stream && ProcessIn(api.pid[i]) && Inside(api.tid[i], api.begin_ns[i]);
      api_[i] = chosen_[i] && Overlaps(api.begin_ns[i], api.end_ns[i]);
    }
    if (asked_.devices.empty()) return;
    // Calls with jobs, none of which is on a selected device.
    Mask elsewhere(api.size(), 0);
    const Jobs& jobs = model_.jobs;
    for (const bool in : {false, true}) {
      for (size_t j = 0; j < jobs.size(); ++j) {
        if (DeviceIn(jobs.device[j]) != in) continue;
        for (const uint32_t call : {jobs.api_row[j], jobs.wait_api_row[j]}) {
          if (call != kNoRow) elsewhere[call] = !in;
        }
      }
    }
    for (size_t i = 0; i < api.size(); ++i) api_[i] = api_[i] && !elsewhere[i];
  }

  std::pair<int64_t, int64_t> Extent(size_t job) const {
    const Jobs& jobs = model_.jobs;
    int64_t begin_ns = std::numeric_limits<int64_t>::max();
    int64_t end_ns = std::numeric_limits<int64_t>::min();
    const auto see = [&](int64_t at_ns) {
      if (at_ns == kNoTime) return;
      begin_ns = std::min(begin_ns, at_ns);
      end_ns = std::max(end_ns, at_ns);
    };
    for (const auto* column : {&jobs.submit_ns, &jobs.doorbell_ns, &jobs.submit_end_ns,
                               &jobs.irq_ns, &jobs.complete_ns}) {
      see((*column)[job]);
    }
    // The device's times of a job are between those that the host saw.
    const bool all_seen = jobs.submit_ns[job] != kNoTime && jobs.complete_ns[job] != kNoTime;
    if (jobs.on_device[job] && !all_seen) {
      see(jobs.doorbell.host[job].mid_ns);
      see(jobs.completion.host[job].mid_ns);
    }
    const Commands& commands = model_.commands;
    for (uint32_t c = 0; begin_ns > end_ns && c < jobs.num_commands[job]; ++c) {
      see(commands.fetched.host[jobs.first_command[job] + c].mid_ns);
    }
    return {begin_ns, end_ns};
  }

  // The calls that identify the process of a job may be in another part of the trace.
  bool NeedsWhole(size_t job) const {
    return about_.part && asked_.by_process() && model_.jobs.pid[job] == 0 &&
           ClientOf(model_.jobs.correlation[job]) != 0;
  }

  Status MarkJobs() {
    const Jobs& jobs = model_.jobs;
    if (about_.jobs != nullptr) {
      jobs_ = *about_.jobs;
      return {};
    }
    jobs_.assign(jobs.size(), 0);
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (!DeviceIn(jobs.device[j])) continue;
      const bool unsure = NeedsWhole(j);
      if (!unsure && !ProcessIn(owners_.Of(j))) continue;
      const uint32_t call = jobs.api_row[j];
      if ((!asked_.ranges.empty() || !asked_.streams.empty()) &&
          (call == kNoRow || !chosen_[call])) {
        continue;
      }
      const auto [begin_ns, end_ns] = Extent(j);
      jobs_[j] = Overlaps(begin_ns, end_ns);
      if (unsure && jobs_[j]) {
        return Status::Error("whose job " + std::to_string(jobs.job[j]) +
                             " is, a part of the trace cannot tell; read all of it");
      }
    }
    return {};
  }

  void MarkWhatJobsNeed() {
    const Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (!jobs_[j]) continue;
      for (const uint32_t call : {jobs.api_row[j], jobs.wait_api_row[j]}) {
        if (call != kNoRow) api_[call] = 1;
      }
    }
  }

  Mask MarkHost() const {
    const HostEvents& host = model_.host;
    Mask mask(host.size(), 0);
    if (about_.wanted != nullptr && !about_.wanted->host) return mask;
    std::vector<uint64_t> known;  // every job, in order
    EachRow(
        [&](size_t, uint32_t device, uint32_t job) {
          known.push_back(JobKey(device, job));
          return true;
        },
        model_.jobs.device, model_.jobs.job);
    size_t last = 0;  // events of a job are close to each other
    const auto is_in = [&](size_t i, int64_t time_ns, uint32_t device, uint32_t job) {
      if (device != kNoRow && !DeviceIn(device)) return true;
      const uint64_t key = JobKey(device, job);
      if (last >= known.size() || known[last] != key) {
        last =
            static_cast<size_t>(std::lower_bound(known.begin(), known.end(), key) - known.begin());
      }
      if (last < known.size() && known[last] == key && job != 0) {
        mask[i] = jobs_[last];
        return true;
      }
      mask[i] = asked_.streams.empty() && ProcessIn(host.pid[i]) && Inside(host.tid[i], time_ns) &&
                Overlaps(time_ns, time_ns);
      return true;
    };
    EachRow(is_in, host.time_ns, host.device, host.job);
    return mask;
  }

  Mask MarkCommands() const {
    const Commands& commands = model_.commands;
    Mask mask(commands.size(), 0);
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands.job_row[i] != kNoRow) {
        mask[i] = jobs_[commands.job_row[i]];
      } else {
        mask[i] = !ByJob() && DeviceIn(commands.device[i]) &&
                  Overlaps(commands.fetched.host[i].mid_ns, commands.end.host[i].mid_ns);
      }
    }
    return mask;
  }

  Mask MarkDeviceEvents() const {
    const DeviceEvents& events = model_.device_events;
    Mask mask(events.size(), 0);
    for (size_t i = 0; i < events.size(); ++i) {
      const int64_t at_ns = events.time.host[i].mid_ns;
      mask[i] = DeviceIn(events.device[i]) && Overlaps(at_ns, at_ns);
    }
    return mask;
  }

  Mask MarkOthers() const {
    const OthersUse& others = model_.others;
    Mask mask(others.size(), 0);
    for (size_t i = 0; i < others.size(); ++i) {
      mask[i] = !ByJob() && DeviceIn(others.device[i]) &&
                Overlaps(others.first_head.host[i].mid_ns, others.last_end.host[i].mid_ns);
    }
    return mask;
  }

  Mask MarkProcessEvents() const {
    const ProcessEvents& events = model_.process_events;
    Mask mask(events.size(), 0);
    // These decide what a trace must contain, so they are kept for all times.
    for (size_t i = 0; i < events.size(); ++i) mask[i] = ProcessIn(events.pid[i]);
    return mask;
  }

  // Marks the threads of processes at any time.
  Mask MarkRuns() const {
    const ThreadRuns& runs = model_.system.runs;
    Mask mask(runs.size(), 0);
    for (size_t i = 0; i < runs.size(); ++i) {
      mask[i] = ProcessIn(runs.pid[i]) && Overlaps(runs.AwayNs(i), runs.end_ns[i]);
    }
    return mask;
  }

  // At any time, because the group of a process may have been recorded earlier.
  Mask MarkGroups() const {
    Mask mask;
    for (const ProcessGroup& group : model_.system.groups) mask.push_back(ProcessIn(group.pid));
    return mask;
  }

  Mask MarkCounters(size_t device) const {
    const CounterSamples& samples = model_.devices[device].counters;
    Mask mask(samples.size(), 0);
    for (size_t i = 0; i < samples.size(); ++i) {
      const int64_t at_ns = samples.time.host[i].mid_ns;
      mask[i] = devices_[device] && Overlaps(at_ns, at_ns);
    }
    return mask;
  }

  std::string Text() const {
    std::string text;
    const auto add = [&](const char* what, const std::string& value) {
      text += (text.empty() ? "" : ", ") + std::string(what) + " " + value;
    };
    for (const std::string& process : asked_.processes) add("process", process);
    for (const std::string& container : asked_.containers) add("container", container);
    for (const std::string& device : asked_.devices) add("device", device);
    for (const uint32_t stream : asked_.streams) add("stream", std::to_string(stream));
    for (const std::string& range : asked_.ranges) add("range", range);
    if (asked_.from_ns) add("from", std::to_string(*asked_.from_ns) + " ns");
    if (asked_.to_ns) add("to", std::to_string(*asked_.to_ns) + " ns");
    return text;
  }

  const Selection& asked_;
  const AboutPart about_;
  Model& model_;
  JobOwners owners_{model_};
  int64_t from_ns_ = std::numeric_limits<int64_t>::min();
  int64_t to_ns_ = std::numeric_limits<int64_t>::max();
  std::unordered_set<uint32_t> pids_;
  std::unordered_map<uint32_t, std::vector<std::pair<int64_t, int64_t>>> inside_;  // by thread
  Mask devices_, api_, chosen_, ranges_, jobs_;
};

}  // namespace

bool MatchesGlob(std::string_view text, std::string_view pattern) {
  size_t t = 0, p = 0, star = std::string_view::npos, after = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, after = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Status Select(const Selection& selection, Model* model, const AboutPart& about) {
  if (!selection.any()) return {};
  return Selector(selection, about, model).Run();
}

}  // namespace acceltrace::model
