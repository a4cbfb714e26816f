// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/thread_states.h"
#include "libtrace/view/common/sort_runs.h"
#include "libtrace/view/timeline/timeline_counters.h"

namespace acceltrace::view {
namespace {

using analysis::Cursor;
using proto::DeviceEventBatch;

// Above every pid of Linux (2^22).
constexpr int32_t kFirstDevicePid = 1 << 30;

using About = Slice::About;

// Returns what comes first at equal times.
std::tuple<int, uint32_t, About> OrderOf(const Slice& slice) {
  const int phase = slice.about == About::kCall ? 0 : slice.about == About::kRange ? 1 : 2;
  return {phase, slice.row, slice.about};
}

class Builder {
 public:
  explicit Builder(const model::Model& model) : model_(model) {}

  Timeline Build() {
    FindExtremes();
    FindLaunched();
    FindDependencies();
    AddThreads();
    AddThreadStates();
    for (uint32_t d = 0; d < model_.devices.size(); ++d) AddDevice(d);
    AddSystemCounters(model_, kFirstDevicePid - 2, &timeline_);
    AddLosses();
    return std::move(timeline_);
  }

 private:
  using Slices = std::vector<Slice>;

  int Add(Track track) {
    timeline_.tracks.push_back(std::move(track));
    return static_cast<int>(timeline_.tracks.size() - 1);
  }
  bool IsFull() const { return timeline_.tracks.size() >= kMaxTracks; }

  // Adds a slice if its times can be drawn.
  void Put(Slices* to, int64_t begin_ns, int64_t end_ns, About about, size_t row,
           bool instant = false) {
    if (begin_ns < 0 || end_ns < begin_ns) {
      ++timeline_.skipped;
      return;
    }
    to->push_back({begin_ns, end_ns, static_cast<uint32_t>(row), about, instant});
  }

  // Adds lanes under `parent`; the first one may be an existing track.
  void AddLanes(std::span<Slice> slices, const std::string& name, int parent, int rank,
                const char* description, int first = -1, bool unit_lane = false) {
    bool at_first = first >= 0;
    for (const std::span<Slice> lane : DivideIntoLanes(slices, &timeline_.skipped)) {
      if (at_first) {
        timeline_.tracks[static_cast<size_t>(first)].slices = lane;
        at_first = false;
        continue;
      }
      if (IsFull()) {
        timeline_.skipped += lane.size();
        continue;
      }
      Track track;
      track.name = name;
      track.description = description;
      track.unit_lane = unit_lane;
      track.parent = parent;
      track.rank = rank;
      track.slices = lane;
      Add(std::move(track));
    }
  }

  // Returns the sorted keys of what `each` visits, and the number of slices.
  template <typename Key, typename Each>
  static std::pair<std::vector<Key>, size_t> KeysOf(const Each& each) {
    std::vector<Key> keys;
    size_t enough = 1024, slices = 0;
    const auto unite = [&] {
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      enough = std::max(enough, 2 * keys.size());
    };
    each([&](const Key& of, const Slice&) {
      ++slices;
      if (!keys.empty() && keys.back() == of) return;
      if (keys.size() >= enough) unite();
      keys.push_back(of);
    });
    unite();
    return {std::move(keys), slices};
  }

  // Calls add(key, slices) with the sorted slices of each key, in order of keys. each(to) must call
  // to(key, slice) for all slices, in any order. It is called several times, which saves a copy.
  template <typename Key, typename Each, typename AddGroup>
  void AddGroups(const Each& each, const AddGroup& add) {
    // Skip slices that cannot be drawn.
    uint64_t wrong = 0;
    const auto sound = [&](const auto& to) {
      wrong = 0;
      each([&](const Key& of, const Slice& slice) {
        if (slice.begin_ns < 0 || slice.end_ns < slice.begin_ns) {
          ++wrong;
        } else {
          to(of, slice);
        }
      });
    };
    const auto [keys, count] = KeysOf<Key>(sound);
    timeline_.skipped += wrong;
    // Slices of the same key tend to follow each other.
    size_t last = 0;
    const auto number_of = [&, &keys = keys](const Key& of) {
      if (keys[last] != of) {
        last = static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), of) - keys.begin());
      }
      return last;
    };
    std::vector<size_t> end(keys.size() + 1);  // counts of the previous keys, then ends of each key
    sound([&](const Key& of, const Slice&) { ++end[number_of(of) + 1]; });
    for (size_t k = 0; k < keys.size(); ++k) end[k + 1] += end[k];
    Slices& kept = timeline_.slices.emplace_back(count);
    sound([&](const Key& of, const Slice& slice) { kept[end[number_of(of)]++] = slice; });
    const auto before = [](const Slice& a, const Slice& b) {
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : OrderOf(a) < OrderOf(b);
    };
    for (size_t k = 0, first = 0; k < keys.size(); first = end[k++]) {
      const auto group = std::span<Slice>(kept).subspan(first, end[k] - first);
      SortRuns(group, before);
      add(keys[k], group);
    }
  }

  // ---- host ----

  using Thread = std::pair<uint32_t, uint32_t>;

  Thread ThreadOf(const Slice& slice) const {
    const size_t row = slice.row;
    const model::Jobs& jobs = model_.jobs;
    switch (slice.about) {
      case About::kCall:
        return {model_.api.pid[row], model_.api.tid[row]};
      case About::kRange:
        return {model_.ranges.pid[row], model_.ranges.tid[row]};
      case About::kSubmission:
        return {jobs.pid[row], jobs.tid[row]};
      case About::kAway:
      case About::kRunnable:
      case About::kRunning:
      case About::kNotKnown:
        return {model_.system.runs.pid[row], model_.system.runs.tid[row]};
      default: {
        const uint32_t waiter = jobs.wait_api_row[row];
        return {model_.api.pid[waiter], model_.api.tid[waiter]};
      }
    }
  }

  template <typename Put>
  void EachDriverCall(const Put& put) const {
    const model::Jobs& jobs = model_.jobs;
    for (uint32_t j = 0; j < jobs.size(); ++j) {
      if (jobs.submit_ns[j] != model::kNoTime) {
        const int64_t end_ns = std::max(jobs.submit_end_ns[j], jobs.doorbell_ns[j]);
        put({jobs.submit_ns[j], std::max(end_ns, jobs.submit_ns[j]), j, About::kSubmission, false});
      }
      if (jobs.wake_ns[j] == model::kNoTime || jobs.wait_api_row[j] == model::kNoRow) continue;
      if (jobs.wait_ns[j] != model::kNoTime) {
        put({jobs.wait_ns[j], jobs.wake_ns[j], j, About::kWait, false});
      }
      put({jobs.wake_ns[j], jobs.wake_ns[j], j, About::kWakeUp, true});
    }
  }

  // Sorts jobs by the call that submitted them.
  void FindLaunched() {
    const model::Jobs& jobs = model_.jobs;
    std::vector<uint32_t>&launched = timeline_.launched_jobs, &by = timeline_.launched_by;
    by.assign(model_.api.size() + 1, 0);
    for (const uint32_t call : jobs.api_row) {
      if (call != model::kNoRow) ++by[call + 1];
    }
    std::partial_sum(by.begin(), by.end(), by.begin());
    launched.resize(by.back());
    std::vector<uint32_t> next(by.begin(), by.end() - 1);
    for (uint32_t j = 0; j < jobs.size(); ++j) {
      if (jobs.api_row[j] != model::kNoRow) launched[next[jobs.api_row[j]]++] = j;
    }
  }

  // Calls put(slice).
  template <typename Put>
  void EachOfThreads(const Put& put) const {
    const model::ApiCalls& api = model_.api;
    const model::Ranges& ranges = model_.ranges;
    for (uint32_t i = 0; i < api.size(); ++i) {
      put({api.begin_ns[i], api.end_ns[i], i, About::kCall, false});
    }
    for (uint32_t i = 0; i < ranges.size(); ++i) {
      put({ranges.begin_ns[i], ranges.end_ns[i], i, About::kRange, ranges.mark[i] != 0});
    }
    EachDriverCall(put);
  }

  int ProcessTrack(uint32_t pid) {
    const auto [track, fresh] = processes_.try_emplace(pid, -1);
    if (!fresh) return track->second;
    const std::string name = model_.ProcessName(pid);
    Track process;
    process.kind = Track::Kind::kProcess;
    process.name = name.empty() ? fmt::format("process {}", pid) : name;
    process.pid = static_cast<int32_t>(pid);
    return track->second = Add(std::move(process));
  }

  void AddThreads() {
    const auto add = [&](const Thread& thread, std::span<Slice> slices) {
      const auto [pid, tid] = thread;
      if (IsFull()) {
        timeline_.skipped += slices.size();
        return;
      }
      const int process = ProcessTrack(pid);
      const std::string name = model_.ThreadName(pid, tid);
      Track track;
      track.kind = Track::Kind::kThread;
      track.name = name.empty() ? fmt::format("thread {}", tid) : name;
      track.parent = process;
      track.pid = static_cast<int32_t>(pid);
      track.tid = static_cast<int32_t>(tid);
      const std::string lane = track.name;
      const int first = Add(std::move(track));
      AddLanes(slices, lane + " (overlapping)", process, 0,
               "What overlaps on its thread without nesting", first);
    };
    AddGroups<Thread>(
        [&](const auto& to) {
          EachOfThreads([&](const Slice& slice) { to(ThreadOf(slice), slice); });
        },
        add);
  }

  // Calls put(slice).
  template <typename Put>
  void EachThreadState(const Put& put) const {
    const model::ThreadRuns& runs = model_.system.runs;
    for (const analysis::ThreadRows rows : analysis::RowsByThread(runs)) {
      for (const auto& at : analysis::ThreadIntervals(runs, rows.first, rows.last)) {
        using State = analysis::ThreadState;
        const bool known = at.begin_ns >= runs.AwayNs(at.run);
        const About about = at.state == State::kRunning    ? About::kRunning
                            : at.state == State::kRunnable ? About::kRunnable
                            : known                        ? About::kAway
                                                           : About::kNotKnown;
        put({at.begin_ns, at.end_ns, at.run, about, false});
      }
    }
  }

  // The states according to the kernel's scheduler, with a lane for each thread.
  void AddThreadStates() {
    AddGroups<Thread>(
        [&](const auto& to) {
          EachThreadState([&](const Slice& slice) { to(ThreadOf(slice), slice); });
        },
        [&](const Thread& thread, std::span<Slice> group) {
          if (IsFull()) {
            timeline_.skipped += group.size();
            return;
          }
          const auto [pid, tid] = thread;
          const std::string name = model_.ThreadName(pid, tid);
          const int process = ProcessTrack(pid);
          AddLanes(group, fmt::format("{} {}: states", name.empty() ? "thread" : name, tid),
                   process, 1, "Running, runnable or waiting, by the kernel's scheduler");
        });
  }

  // ---- devices ----

  void AddDevice(uint32_t d) {
    const model::Device& device = model_.devices[d];
    Track track;
    track.kind = Track::Kind::kDevice;
    track.device = d;
    track.description =
        "Device times are converted to CLOCK_MONOTONIC; the bounds are in the slices' arguments";
    track.name = fmt::format("{} {}", device.about.name(), device.about.pci().address());
    track.pid = kFirstDevicePid + static_cast<int32_t>(d);
    const int parent = Add(std::move(track));
    AddQueues(d, parent);
    AddUnits(d, parent);
    AddInterrupts(d, parent);
    AddDeviceEvents(d, parent);
    AddDeviceCounters(model_, d, parent, &timeline_);
  }

  void AddQueues(uint32_t d, int parent) {
    const model::Jobs& jobs = model_.jobs;
    const model::Column<uint32_t>& devices = model_.commands.device;
    const bool has_commands = std::find(devices.begin(), devices.end(), d) != devices.end();
    // If the device itself reports no job, they are shown as seen by the host.
    bool reported = false;
    for (size_t j = 0; j < jobs.size() && !reported; ++j) {
      reported = jobs.device[j] == d && jobs.on_device[j] != 0;
    }
    AddGroups<uint32_t>(
        [&](const auto& to) {
          for (uint32_t j = 0; j < jobs.size(); ++j) {
            if (jobs.device[j] != d) continue;
            Slice slice = {jobs.doorbell.host.MidNs(j), jobs.completion.host.MidNs(j), j,
                           About::kJob, false};
            if (!jobs.on_device[j]) {
              slice.begin_ns = jobs.submit_ns[j], slice.end_ns = jobs.complete_ns[j];
              if (reported || slice.begin_ns == model::kNoTime || slice.end_ns == model::kNoTime) {
                continue;
              }
            }
            to(uint32_t{jobs.queue[j]}, slice);
          }
        },
        [&](uint32_t queue, std::span<Slice> group) {
          AddLanes(group, fmt::format("queue {}", queue), parent,
                   static_cast<int>(std::min(queue, 1000u)),
                   reported
                       ? "Jobs, from the doorbell to the completion"
                       : "Jobs, from their submission to their completion as the host saw them",
                   -1, !has_commands);
        });
  }

  void FindDependencies() {
    const model::HostEvents& host = model_.host;
    const model::Jobs& jobs = model_.jobs;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> rows;  // by device and number
    auto& all = timeline_.dependencies;
    for (size_t i = 0; i < host.size(); ++i) {
      if (host.kind[i] != proto::HostBatch::KIND_DEPENDENCY || host.arg0[i] > UINT32_MAX) continue;
      if (rows.empty()) {
        for (uint32_t j = 0; j < jobs.size(); ++j)
          rows.emplace(std::pair(jobs.device[j], jobs.job[j]), j);
      }
      const auto of = rows.find({host.device[i], host.job[i]});
      const auto on = rows.find({host.device[i], static_cast<uint32_t>(host.arg0[i])});
      if (of == rows.end() || on == rows.end() || of == on) continue;
      all.push_back({of->second, on->second});
    }
    const auto key = [](const Timeline::Dependency& one) { return std::pair(one.of, one.on); };
    std::sort(all.begin(), all.end(), [&](auto& a, auto& b) { return key(a) < key(b); });
    all.erase(
        std::unique(all.begin(), all.end(), [&](auto& a, auto& b) { return key(a) == key(b); }),
        all.end());
    auto& awaited = timeline_.dependencies_by_awaited;
    awaited.resize(all.size());
    std::iota(awaited.begin(), awaited.end(), 0u);
    std::sort(awaited.begin(), awaited.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(all[a].on, a) < std::pair(all[b].on, b);
    });
  }

  // Finds the command of each job that started first, and the one that ended last.
  void FindExtremes() {
    const model::Jobs& jobs = model_.jobs;
    const model::Commands& commands = model_.commands;
    timeline_.first_started.assign(jobs.size(), model::kNoRow);
    timeline_.last_ended.assign(jobs.size(), model::kNoRow);
    struct Columns {
      explicit Columns(const model::Commands& of)
          : job_row(of.job_row), start(of.start.ticks), end(of.end.ticks) {}
      Cursor<uint32_t> job_row;
      Cursor<uint64_t> start, end;
    };
    const auto columns = std::make_unique<Columns>(commands);
    Cursor<uint64_t>&start = columns->start, &end = columns->end;
    for (uint32_t i = 0; i < commands.size(); ++i) {
      const uint32_t job = columns->job_row[i];
      uint32_t& first = timeline_.first_started[job];
      uint32_t& last = timeline_.last_ended[job];
      if (first == model::kNoRow || start[i] < start[first]) first = i;
      if (last == model::kNoRow || end[i] >= end[last]) last = i;
    }
  }

  void AddUnits(uint32_t d, int parent) {
    const model::Device& device = model_.devices[d];
    const model::Commands& commands = model_.commands;
    struct Columns {
      explicit Columns(const model::Commands& of)
          : device(of.device),
            unit(of.unit),
            head_ticks(of.head.ticks),
            start_ticks(of.start.ticks),
            head_ns(of.head.host.mid_ns()),
            start_ns(of.start.host.mid_ns()),
            end_ns(of.end.host.mid_ns()) {}
      Cursor<uint32_t> device, unit;
      Cursor<uint64_t> head_ticks, start_ticks;
      Cursor<int64_t> head_ns, start_ns, end_ns;
    };
    const auto columns = std::make_unique<Columns>(commands);
    AddGroups<uint32_t>(
        [&, &of = *columns](const auto& to) {
          for (uint32_t i = 0; i < commands.size(); ++i) {
            if (of.device[i] != d) continue;
            const uint32_t unit = of.unit[i];
            const int64_t start_ns = of.start_ns[i];
            if (of.head_ticks[i] != of.start_ticks[i]) {
              to(unit, Slice{of.head_ns[i], start_ns, i, About::kWaiting, false});
            }
            to(unit, Slice{start_ns, of.end_ns[i], i, About::kCommand, false});
          }
        },
        [&](uint32_t unit, std::span<Slice> group) {
          AddLanes(group, device.UnitName(unit), parent, 2000 + static_cast<int>(unit),
                   "Commands of this execution unit, and the stalls before they start", -1, true);
        });
  }

  // Adds a slice for each run of the handler, from its entry to the last completion that it
  // consumed.
  void AddInterrupts(uint32_t d, int parent) {
    const model::Jobs& jobs = model_.jobs;
    struct Handled {
      int64_t at_ns;
      uint32_t queue, job;
      bool SameRun(const Handled& other) const {
        return at_ns == other.at_ns && queue == other.queue;
      }
      auto operator<=>(const Handled&) const = default;
    };
    std::vector<Handled> handled;
    for (uint32_t j = 0; j < jobs.size(); ++j) {
      if (jobs.device[j] != d || jobs.complete_ns[j] == model::kNoTime) continue;
      handled.push_back({HandledAtNs(jobs, j), jobs.queue[j], j});
    }
    SortRuns(std::span<Handled>(handled), std::less<>());
    const size_t first = timeline_.interrupt_jobs.size();
    Slices slices;
    for (size_t from = 0, to = 0; from < handled.size(); from = to) {
      int64_t end_ns = 0;
      for (; to < handled.size() && handled[to].SameRun(handled[from]); ++to) {
        end_ns = std::max(end_ns, jobs.complete_ns[handled[to].job]);
        timeline_.interrupt_jobs.push_back(handled[to].job);
      }
      timeline_.interrupt_ends.resize(first + to, static_cast<uint32_t>(first + to));
      Put(&slices, handled[from].at_ns, end_ns, About::kInterrupt, first + from);
    }
    AddLanes(Keep(std::move(slices)), "interrupts", parent, 3000,
             "Runs of the interrupt handler, up to the last completion that each consumed");
  }

  std::span<Slice> Keep(Slices slices) { return timeline_.slices.emplace_back(std::move(slices)); }

  void AddDeviceEvents(uint32_t d, int parent) {
    Slices slices;
    const model::DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events.device[i] != d || events.kind[i] == DeviceEventBatch::KIND_DOORBELL) continue;
      const int64_t at_ns = events.time.host.MidNs(i);
      Put(&slices, at_ns, at_ns, About::kDeviceEvent, i, true);
    }
    AddLanes(Keep(std::move(slices)), "device events", parent, 3001,
             "Changes of link and clock, throttling, errors, resets");
  }

  void AddLosses() {
    Slices slices;
    for (size_t i = 0; i < model_.losses.size(); ++i) {
      const model::Loss& loss = model_.losses[i];
      if (loss.first_ns == model::kNoTime) continue;
      Put(&slices, loss.first_ns, std::max(loss.first_ns, loss.last_ns), About::kLoss, i);
    }
    if (slices.empty()) return;
    Track track;
    track.kind = Track::Kind::kDevice;
    track.name = "acceltrace";
    track.description = "The recording itself";
    track.pid = kFirstDevicePid - 1;
    const int parent = Add(std::move(track));
    AddLanes(Keep(std::move(slices)), "losses", parent, 0,
             "Where events were lost, from the first to the last one");
  }

  const model::Model& model_;
  Timeline timeline_;
  std::map<uint32_t, int> processes_;  // to their tracks
};

}  // namespace

Timeline BuildTimeline(const model::Model& model) { return Builder(model).Build(); }

}  // namespace acceltrace::view
