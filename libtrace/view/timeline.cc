// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "libtrace/view/format.h"

namespace acceltrace::view {
namespace {

using proto::DeviceEventBatch;
using proto::HostBatch;

// Above every pid that Linux gives out (2^22).
constexpr int32_t kFirstDevicePid = 1 << 30;

// Arrows of a job: to its first command, to each other one, and back to the host.
uint64_t LaunchFlow(size_t job) { return (job << 2) + 1; }
uint64_t CompletionFlow(size_t job) { return (job << 2) + 2; }
uint64_t CommandFlow(size_t command) { return (command << 2) + 3; }

class Builder {
 public:
  explicit Builder(const model::Model& model) : model_(model) {}

  Timeline Build() {
    FindExtremes();
    AddThreads();
    for (uint32_t d = 0; d < model_.devices.size(); ++d) AddDevice(d);
    AddLosses();
    return std::move(timeline_);
  }

 private:
  int Add(Track track) {
    timeline_.tracks.push_back(std::move(track));
    return static_cast<int>(timeline_.tracks.size() - 1);
  }

  // Keeps slices whose times can be drawn.
  void Put(std::vector<Slice>* to, Slice slice) {
    if (slice.begin_ns < 0 || slice.end_ns < slice.begin_ns) {
      ++timeline_.skipped;
      return;
    }
    to->push_back(std::move(slice));
  }

  // Lanes under `parent`; the first one may be an existing track.
  void AddLanes(std::vector<Slice> slices, const std::string& name, int parent, int rank,
                int first = -1) {
    bool at_first = first >= 0;
    for (std::vector<Slice>& lane : DivideIntoLanes(std::move(slices), &timeline_.skipped)) {
      if (at_first) {
        timeline_.tracks[static_cast<size_t>(first)].slices = std::move(lane);
        at_first = false;
        continue;
      }
      Track track;
      track.name = name;
      track.parent = parent;
      track.rank = rank;
      track.slices = std::move(lane);
      Add(std::move(track));
    }
  }

  // ---- host ----

  using ThreadSlices = std::map<std::pair<uint32_t, uint32_t>, std::vector<Slice>>;

  void AddApiCalls(ThreadSlices* threads) {
    const model::ApiCalls& api = model_.api;
    std::vector<std::vector<uint64_t>> flows(api.size());
    for (size_t j = 0; j < model_.jobs.size(); ++j) {
      if (model_.jobs.api_row[j] != model::kNoRow) {
        flows[model_.jobs.api_row[j]].push_back(LaunchFlow(j));
      }
    }
    for (size_t i = 0; i < api.size(); ++i) {
      Slice slice{api.begin_ns[i],
                  api.end_ns[i],
                  false,
                  model_.strings.Get(api.name[i]),
                  "api",
                  Slice::About::kCall,
                  static_cast<uint32_t>(i),
                  std::move(flows[i])};
      Put(&(*threads)[{api.pid[i], api.tid[i]}], std::move(slice));
    }
  }

  void AddRanges(ThreadSlices* threads) {
    const model::Ranges& ranges = model_.ranges;
    for (size_t i = 0; i < ranges.size(); ++i) {
      Put(&(*threads)[{ranges.pid[i], ranges.tid[i]}], {ranges.begin_ns[i],
                                                        ranges.end_ns[i],
                                                        ranges.mark[i] != 0,
                                                        model_.strings.Get(ranges.name[i]),
                                                        "range",
                                                        Slice::About::kNothing,
                                                        0,
                                                        {}});
    }
  }

  void AddDriverCalls(ThreadSlices* threads) {
    const model::Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      const std::string job = fmt::format("job {}", jobs.job[j]);
      if (jobs.submit_ns[j] != model::kNoTime) {
        const int64_t end_ns = std::max(jobs.submit_end_ns[j], jobs.doorbell_ns[j]);
        Slice slice{jobs.submit_ns[j],
                    std::max(end_ns, jobs.submit_ns[j]),
                    false,
                    "submit " + job,
                    "driver",
                    Slice::About::kSubmission,
                    static_cast<uint32_t>(j),
                    {LaunchFlow(j)}};
        Put(&(*threads)[{jobs.pid[j], jobs.tid[j]}], std::move(slice));
      }
      const uint32_t waiter = jobs.wait_api_row[j];
      if (jobs.wake_ns[j] == model::kNoTime || waiter == model::kNoRow) continue;
      const auto thread = std::make_pair(model_.api.pid[waiter], model_.api.tid[waiter]);
      if (jobs.wait_ns[j] != model::kNoTime) {
        Put(&(*threads)[thread], {jobs.wait_ns[j],
                                  jobs.wake_ns[j],
                                  false,
                                  "wait for " + job,
                                  "driver",
                                  Slice::About::kNothing,
                                  0,
                                  {}});
      }
      Put(&(*threads)[thread], {jobs.wake_ns[j],
                                jobs.wake_ns[j],
                                true,
                                "wake",
                                "driver",
                                Slice::About::kWakeUp,
                                static_cast<uint32_t>(j),
                                {CompletionFlow(j)}});
    }
  }

  void AddThreads() {
    ThreadSlices threads;
    AddApiCalls(&threads);
    AddRanges(&threads);
    AddDriverCalls(&threads);
    std::map<uint32_t, int> processes;
    for (auto& [key, slices] : threads) {
      const auto [pid, tid] = key;
      if (processes.find(pid) == processes.end()) {
        const std::string name = model_.ProcessName(pid);
        Track track;
        track.kind = Track::Kind::kProcess;
        track.name = name.empty() ? fmt::format("process {}", pid) : name;
        track.pid = static_cast<int32_t>(pid);
        processes[pid] = Add(std::move(track));
      }
      const std::string name = model_.ThreadName(pid, tid);
      Track track;
      track.kind = Track::Kind::kThread;
      track.name = name.empty() ? fmt::format("thread {}", tid) : name;
      track.parent = processes[pid];
      track.pid = static_cast<int32_t>(pid);
      track.tid = static_cast<int32_t>(tid);
      const std::string lane = track.name;
      const int thread = Add(std::move(track));
      AddLanes(std::move(slices), lane + " (overlapping)", processes[pid], 0, thread);
    }
  }

  // ---- devices ----

  void AddDevice(uint32_t d) {
    const model::Device& device = model_.devices[d];
    Track track;
    track.kind = Track::Kind::kDevice;
    track.name = fmt::format("{} {}", device.about.name(), device.about.pci().address());
    track.pid = kFirstDevicePid + static_cast<int32_t>(d);
    const int parent = Add(std::move(track));
    AddQueues(d, parent);
    AddUnits(d, parent);
    AddInterrupts(d, parent);
    AddDeviceEvents(d, parent);
    AddInFlight(d, parent);
    AddCounters(d, parent);
  }

  void AddQueues(uint32_t d, int parent) {
    const model::Jobs& jobs = model_.jobs;
    std::map<uint32_t, std::vector<Slice>> queues;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (jobs.device[j] != d || !jobs.on_device[j]) continue;
      const model::Interval& doorbell = jobs.doorbell.host[j];
      Slice slice{doorbell.mid_ns,
                  jobs.completion.host[j].mid_ns,
                  false,
                  fmt::format("job {}", jobs.job[j]),
                  "job",
                  Slice::About::kJob,
                  static_cast<uint32_t>(j),
                  {LaunchFlow(j)}};
      for (size_t c = jobs.first_command[j]; c < jobs.first_command[j] + jobs.num_commands[j];
           ++c) {
        if (c != first_started_[j]) slice.flows.push_back(CommandFlow(c));
      }
      if (last_ended_[j] == model::kNoRow) slice.flows.push_back(CompletionFlow(j));
      Put(&queues[jobs.queue[j]], std::move(slice));
    }
    for (auto& [queue, slices] : queues) {
      AddLanes(std::move(slices), fmt::format("queue {}", queue), parent,
               static_cast<int>(std::min(queue, 1000u)));
    }
  }

  // The commands of each job that started first and ended last.
  void FindExtremes() {
    const model::Jobs& jobs = model_.jobs;
    const model::Commands& commands = model_.commands;
    first_started_.assign(jobs.size(), model::kNoRow);
    last_ended_.assign(jobs.size(), model::kNoRow);
    for (uint32_t i = 0; i < commands.size(); ++i) {
      uint32_t& first = first_started_[commands.job_row[i]];
      uint32_t& last = last_ended_[commands.job_row[i]];
      if (first == model::kNoRow || commands.start.ticks[i] < commands.start.ticks[first])
        first = i;
      if (last == model::kNoRow || commands.end.ticks[i] >= commands.end.ticks[last]) last = i;
    }
  }

  void AddUnits(uint32_t d, int parent) {
    const model::Device& device = model_.devices[d];
    const model::Commands& commands = model_.commands;
    std::vector<std::vector<Slice>> units(static_cast<size_t>(device.about.units_size()));
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands.device[i] != d) continue;
      std::vector<Slice>& unit = units[commands.unit[i]];
      const size_t job = commands.job_row[i];
      const int64_t start_ns = commands.start.host[i].mid_ns;
      if (commands.head.ticks[i] != commands.start.ticks[i]) {
        Put(&unit, {commands.head.host[i].mid_ns,
                    start_ns,
                    false,
                    "waiting",
                    "stall",
                    Slice::About::kWaiting,
                    static_cast<uint32_t>(i),
                    {}});
      }
      const std::string& op = model_.strings.Get(commands.op[i]);
      Slice slice{start_ns,
                  commands.end.host[i].mid_ns,
                  false,
                  op.empty() ? device.OpcodeName(commands.opcode[i]) : op,
                  "command",
                  Slice::About::kCommand,
                  static_cast<uint32_t>(i),
                  {}};
      slice.flows.push_back(first_started_[job] == i ? LaunchFlow(job) : CommandFlow(i));
      if (last_ended_[job] == i) slice.flows.push_back(CompletionFlow(job));
      Put(&unit, std::move(slice));
    }
    for (size_t unit = 0; unit < units.size(); ++unit) {
      AddLanes(std::move(units[unit]), device.UnitName(static_cast<uint32_t>(unit)), parent,
               2000 + static_cast<int>(unit));
    }
  }

  // One slice for each run of the handler, from its entry to the last completion
  // that it consumed.
  void AddInterrupts(uint32_t d, int parent) {
    std::map<std::pair<int64_t, uint32_t>, Slice> runs;
    const model::Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (jobs.device[j] != d || jobs.complete_ns[j] == model::kNoTime) continue;
      const bool polled = jobs.irq_ns[j] == model::kNoTime;
      const int64_t begin_ns = polled ? jobs.complete_ns[j] : jobs.irq_ns[j];
      Slice& slice = runs[{begin_ns, jobs.queue[j]}];
      slice.begin_ns = begin_ns;
      slice.end_ns = std::max(slice.end_ns, jobs.complete_ns[j]);
      slice.name = fmt::format("{} queue {}", polled ? "poll" : "interrupt", jobs.queue[j]);
      slice.category = "driver";
      slice.flows.push_back(CompletionFlow(j));
    }
    std::vector<Slice> slices;
    for (auto& [key, slice] : runs) Put(&slices, std::move(slice));
    AddLanes(std::move(slices), "interrupts", parent, 3000);
  }

  void AddDeviceEvents(uint32_t d, int parent) {
    std::vector<Slice> slices;
    const model::DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events.device[i] != d || events.kind[i] == DeviceEventBatch::KIND_DOORBELL) continue;
      static constexpr const char* kNames[] = {"event",    "link changed", "clock changed",
                                               "throttle", "memory error", "context error",
                                               "reset"};
      const uint32_t kind = events.kind[i] < std::size(kNames) ? events.kind[i] : 0;
      const int64_t at_ns = events.time.host[i].mid_ns;
      Put(&slices, {at_ns,
                    at_ns,
                    true,
                    kNames[kind],
                    "device",
                    Slice::About::kDeviceEvent,
                    static_cast<uint32_t>(i),
                    {}});
    }
    AddLanes(std::move(slices), "device events", parent, 3001);
  }

  void AddCounterTrack(const std::string& name, const std::string& unit, int parent, int rank,
                       std::vector<std::pair<int64_t, double>> values) {
    Track track;
    track.kind = Track::Kind::kCounter;
    track.name = name;
    track.unit = unit;
    track.parent = parent;
    track.rank = rank;
    for (const auto& value : values) {
      if (value.first < 0) {
        ++timeline_.skipped;
      } else if (!track.values.empty() && track.values.back().first == value.first) {
        track.values.back() = value;
      } else {
        track.values.push_back(value);
      }
    }
    if (!track.values.empty()) Add(std::move(track));
  }

  void AddInFlight(uint32_t d, int parent) {
    const model::Jobs& jobs = model_.jobs;
    std::vector<std::pair<int64_t, int>> changes;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (jobs.device[j] != d || jobs.submit_ns[j] == model::kNoTime ||
          jobs.complete_ns[j] == model::kNoTime) {
        continue;
      }
      changes.emplace_back(jobs.submit_ns[j], +1);
      changes.emplace_back(jobs.complete_ns[j], -1);
    }
    std::sort(changes.begin(), changes.end());
    std::vector<std::pair<int64_t, double>> values;
    int in_flight = 0;
    for (const auto& [at_ns, change] : changes) {
      in_flight += change;
      values.emplace_back(at_ns, in_flight);
    }
    AddCounterTrack("jobs in flight", "jobs", parent, 4000, std::move(values));
  }

  // What a counter grew by from one snapshot to the next, as a rate that holds
  // from the first of the two on.
  void AddCounters(uint32_t d, int parent) {
    const model::Device& device = model_.devices[d];
    const model::CounterSamples& samples = device.counters;
    const double hz = static_cast<double>(device.about.clock().nominal_hz());
    if (samples.size() < 2 || hz <= 0) return;
    // By counter: the snapshots that tell it.
    std::vector<std::vector<std::pair<uint32_t, uint64_t>>> told(samples.num_counters);
    for (size_t row = 0; row < samples.size(); ++row) {
      for (const model::CounterSamples::Told& t : samples.sets[samples.set[row]]) {
        told[t.counter].emplace_back(static_cast<uint32_t>(row), samples.ValueAt(row, t));
      }
    }
    for (size_t c = 0; c < samples.num_counters; ++c) {
      const proto::Counter& about = device.about.counters(static_cast<int>(c));
      // What every other counter is measured by, and what the busy and stall
      // tracks leave over, are lines that say nothing.
      if (about.name() == "elapsed_ticks" || about.name().ends_with("_idle")) continue;
      const bool share = about.unit() == "ticks";
      std::vector<std::pair<int64_t, double>> values;
      bool any = false;
      for (size_t i = 1; i < told[c].size(); ++i) {
        const auto& [last, before] = told[c][i - 1];
        const auto& [row, after] = told[c][i];
        if (samples.time.ticks[row] <= samples.time.ticks[last]) continue;
        const double ticks =
            static_cast<double>(samples.time.ticks[row] - samples.time.ticks[last]);
        const uint64_t grown = after - before;
        any |= grown != 0;
        const double value = static_cast<double>(grown) / ticks;
        values.emplace_back(samples.time.host[last].mid_ns, value * (share ? 100 : hz));
      }
      if (!any) continue;
      values.emplace_back(samples.time.host[told[c].back().first].mid_ns, 0);
      AddCounterTrack(about.name(),
                      share                     ? "%"
                      : about.unit() == "bytes" ? "B/s"
                                                : "/s",
                      parent, 4001 + static_cast<int>(c), std::move(values));
    }
  }

  void AddLosses() {
    std::vector<Slice> slices;
    for (size_t i = 0; i < model_.losses.size(); ++i) {
      const model::Loss& loss = model_.losses[i];
      if (loss.first_ns == model::kNoTime) continue;
      Put(&slices, {loss.first_ns,
                    std::max(loss.first_ns, loss.last_ns),
                    false,
                    fmt::format("{} events lost at {}", loss.count,
                                Shortened(model_.strings.Get(loss.hop), 64)),
                    "loss",
                    Slice::About::kLoss,
                    static_cast<uint32_t>(i),
                    {}});
    }
    if (slices.empty()) return;
    Track track;
    track.kind = Track::Kind::kDevice;
    track.name = "acceltrace";
    track.pid = kFirstDevicePid - 1;
    const int parent = Add(std::move(track));
    AddLanes(std::move(slices), "losses", parent, 0);
  }

  const model::Model& model_;
  Timeline timeline_;
  std::vector<uint32_t> first_started_, last_ended_;
};

}  // namespace

std::vector<std::vector<Slice>> DivideIntoLanes(std::vector<Slice> slices, uint64_t* skipped) {
  const auto before = [](const Slice& a, const Slice& b) {
    return std::tie(a.begin_ns, b.end_ns) < std::tie(b.begin_ns, a.end_ns);
  };
  if (!std::is_sorted(slices.begin(), slices.end(), before)) {
    std::stable_sort(slices.begin(), slices.end(), before);
  }
  // First the lane of each, then the lanes: one lane is what came, several are as long as they
  // must be.
  std::vector<uint16_t> lane_of(slices.size());
  std::vector<size_t> sizes;
  std::vector<std::vector<int64_t>> open_ends;  // of each lane, innermost last
  for (size_t i = 0; i < slices.size(); ++i) {
    size_t lane = 0;
    for (; lane < sizes.size(); ++lane) {
      std::vector<int64_t>& open = open_ends[lane];
      while (!open.empty() && open.back() <= slices[i].begin_ns) open.pop_back();
      if (open.empty() || slices[i].end_ns <= open.back()) break;
    }
    lane_of[i] = static_cast<uint16_t>(lane);
    if (lane == kMaxLanes) {
      ++*skipped;
      continue;
    }
    if (lane == sizes.size()) {
      sizes.push_back(0);
      open_ends.emplace_back();
    }
    ++sizes[lane];
    open_ends[lane].push_back(slices[i].end_ns);
  }
  std::vector<std::vector<Slice>> lanes(sizes.size());
  if (sizes.size() == 1) {
    lanes[0] = std::move(slices);
    return lanes;
  }
  for (size_t lane = 0; lane < sizes.size(); ++lane) lanes[lane].reserve(sizes[lane]);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (lane_of[i] < kMaxLanes) lanes[lane_of[i]].push_back(std::move(slices[i]));
  }
  return lanes;
}

Timeline BuildTimeline(const model::Model& model) { return Builder(model).Build(); }

}  // namespace acceltrace::view
