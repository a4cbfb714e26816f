// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/timeline/timeline_counters.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace acceltrace::view {
namespace {

bool IsFull(const Timeline& timeline) { return timeline.tracks.size() >= kMaxTracks; }

void AddCounterTrack(Timeline* timeline, const std::string& name, const std::string& unit,
                     int parent, int rank, const char* description,
                     std::vector<std::pair<int64_t, double>> values) {
  Track track;
  track.kind = Track::Kind::kCounter;
  track.name = name;
  track.description = description;
  track.unit = unit;
  track.parent = parent;
  track.rank = rank;
  for (const auto& value : values) {
    if (value.first < 0) {
      ++timeline->skipped;
    } else if (!track.values.empty() && track.values.back().first == value.first) {
      track.values.back() = value;
    } else {
      track.values.push_back(value);
    }
  }
  if (track.values.empty()) return;
  if (IsFull(*timeline)) {
    timeline->skipped += track.values.size();
    return;
  }
  timeline->tracks.push_back(std::move(track));
}

void AddInFlight(const model::Model& model, uint32_t d, int parent, Timeline* timeline) {
  const model::Jobs& jobs = model.jobs;
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
  AddCounterTrack(timeline, "jobs in flight", "jobs", parent, 4000,
                  "Submitted and not yet seen complete by the driver", std::move(values));
}

// Adds the growth of counters from one snapshot to the next, as a rate that holds from the first of
// the two on.
void AddCounters(const model::Model& model, uint32_t d, int parent, Timeline* timeline) {
  const model::Device& device = model.devices[d];
  const model::CounterSamples& samples = device.counters;
  const double hz = static_cast<double>(device.about.clock().nominal_hz());
  if (samples.size() < 2 || hz <= 0) return;
  int group = -1;
  // For each counter, the snapshots that have it.
  std::vector<std::vector<std::pair<uint32_t, uint64_t>>> known(samples.num_counters);
  for (size_t row = 0; row < samples.size(); ++row) {
    for (const model::CounterSamples::Entry& t : samples.sets[samples.set[row]]) {
      known[t.counter].emplace_back(static_cast<uint32_t>(row), samples.ValueAt(row, t));
    }
  }
  for (size_t c = 0; c < samples.num_counters; ++c) {
    const proto::Counter& about = device.about.counters(static_cast<int>(c));
    // These have no information of their own: all others are relative to the former, and the latter
    // is what the busy and stall tracks leave.
    if (about.name() == "elapsed_ticks" || about.name().ends_with("_idle")) continue;
    const bool share = about.unit() == "ticks", bytes = about.unit() == "bytes";
    const double scale = share ? 100 : bytes ? hz * 1e-9 : hz;
    std::vector<std::pair<int64_t, double>> values;
    bool any = false;
    for (size_t i = 1; i < known[c].size(); ++i) {
      const auto& [last, before] = known[c][i - 1];
      const auto& [row, after] = known[c][i];
      if (samples.time.ticks[row] <= samples.time.ticks[last]) continue;
      const double ticks = static_cast<double>(samples.time.ticks[row] - samples.time.ticks[last]);
      const uint64_t grown = after - before;
      any |= grown != 0;
      const double value = static_cast<double>(grown) / ticks;
      values.emplace_back(samples.time.host[last].mid_ns, value * scale);
    }
    if (!any || IsFull(*timeline)) continue;
    values.emplace_back(samples.time.host[known[c].back().first].mid_ns, 0);
    if (group < 0) {
      Track track;
      track.kind = Track::Kind::kGroup;
      track.name = "counters";
      track.description = "The device's own counters, as rates from one snapshot to the next";
      track.parent = parent;
      track.rank = 5000;
      timeline->tracks.push_back(std::move(track));
      group = static_cast<int>(timeline->tracks.size() - 1);
    }
    AddCounterTrack(timeline, about.name(),
                    share   ? "%"
                    : bytes ? "GB/s"
                            : "/s",
                    group, static_cast<int>(c), about.text().c_str(), std::move(values));
  }
}

int AddHost(int32_t pid, Timeline* timeline) {
  Track track;
  track.kind = Track::Kind::kDevice;
  track.name = "host";
  track.description = "Counters of the kernel's own";
  track.pid = pid;
  timeline->tracks.push_back(std::move(track));
  return static_cast<int>(timeline->tracks.size() - 1);
}

}  // namespace

void AddDeviceCounters(const model::Model& model, uint32_t device, int parent, Timeline* timeline) {
  AddInFlight(model, device, parent, timeline);
  AddCounters(model, device, parent, timeline);
}

// Adds gauges as they are, and totals as their growth per second from a sample on.
void AddSystemCounters(const model::Model& model, int32_t pid, Timeline* timeline) {
  const model::SystemTables& system = model.system;
  const model::SystemSamples& samples = system.samples;
  int parent = -1;
  for (size_t from = 0, to = 0; from < samples.size(); from = to) {
    const model::SystemCounter& counter = system.counters[samples.counter[from]];
    std::vector<std::pair<int64_t, double>> values;
    bool any = false;
    for (to = from; to < samples.size() && samples.counter[to] == samples.counter[from]; ++to) {
      const auto value = static_cast<double>(samples.value[to]);
      if (!counter.total) {
        values.emplace_back(samples.time_ns[to], value);
        any = any || value != 0;
        continue;
      }
      if (to == from || samples.time_ns[to] <= samples.time_ns[to - 1]) continue;
      const auto before = static_cast<double>(samples.value[to - 1]);
      const auto ns = static_cast<double>(samples.time_ns[to] - samples.time_ns[to - 1]);
      values.emplace_back(samples.time_ns[to - 1], std::max(0.0, value - before) * 1e9 / ns);
      any = any || value > before;
    }
    if (!any || IsFull(*timeline)) continue;
    if (counter.total) values.emplace_back(samples.time_ns[to - 1], 0);
    if (parent < 0) parent = AddHost(pid, timeline);
    const auto text = [&](uint32_t id) { return model.strings.Get(id); };
    std::string name = text(counter.source) + " ";
    if (counter.object != 0) name += text(counter.object) + " ";
    AddCounterTrack(timeline, name + text(counter.name),
                    text(counter.unit) + (counter.total ? "/s" : ""), parent,
                    static_cast<int>(samples.counter[from]), "", std::move(values));
  }
}

}  // namespace acceltrace::view
