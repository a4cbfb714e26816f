// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/overhead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"

namespace acceltrace::analysis {
namespace {

Span ToSpan(const Cost& cost) {
  return {std::llround(cost[kLow]), std::llround(cost[kMid]), std::llround(cost[kHigh])};
}

void Add(Cost* sum, const Cost& cost, double share = 1) {
  for (size_t i = 0; i < sum->size(); ++i) (*sum)[i] += share * cost[i];
}

// Walks through the run's classes in order of time.
class ClassAt {
 public:
  explicit ClassAt(const Breakdown& breakdown) : breakdown_(breakdown) {}
  // Times must not decrease.
  Class operator()(int64_t at_ns) {
    while (next_ < breakdown_.pieces.size() && Begin() <= at_ns) ++next_;
    return next_ == 0 ? kApplication : breakdown_.pieces[next_ - 1].of;
  }
  // Returns when the class changes next.
  int64_t Until(int64_t end_ns) const {
    return next_ < breakdown_.pieces.size() ? std::min(end_ns, Begin()) : end_ns;
  }

 private:
  int64_t Begin() const {
    return next_ == 0 ? breakdown_.begin_ns : breakdown_.pieces[next_ - 1].end_ns;
  }

  const Breakdown& breakdown_;
  size_t next_ = 0;
};

struct Sums {
  Cost events{}, recorder{};
  // Whether it is known for what threads waited. If it is not, waited_ns is how long the recorder
  // worked while a call or a job was under way.
  bool waits_known = true;
  double waited_ns = 0;
  // Time of the recorder outside of all calls, in which the program may have slept.
  double beside_ns = 0;
  std::array<double, kNumClasses> by_class{};
  std::unordered_map<uint32_t, std::pair<uint64_t, Cost>> threads;
};

// The breakdown's run or, without a device, from the first call to the last.
struct Window {
  int64_t begin_ns = 0, end_ns = 0;
  double ns() const { return static_cast<double>(end_ns - begin_ns); }
};

Window WindowOf(const model::Model& model, const Breakdown& breakdown) {
  if (breakdown.RunNs() > 0) return {breakdown.begin_ns, breakdown.end_ns};
  Window window = {INT64_MAX, INT64_MIN};
  const model::ApiCalls& api = model.api;
  for (size_t i = 0; i < api.size(); ++i) {
    window.begin_ns = std::min(window.begin_ns, api.begin_ns[i]);
    window.end_ns = std::max(window.end_ns, api.open[i] ? api.begin_ns[i] : api.end_ns[i]);
  }
  return window.begin_ns < window.end_ns ? window : Window{};
}

// Returns true if there is any information on what threads waited for. For devices of third-party
// drivers, jobs and calls are known, but not which thread waited for which job.
bool KnowsWaits(const model::Model& model) {
  const model::Jobs& jobs = model.jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs.on_device[i] || jobs.wait_ns[i] != model::kNoTime) return true;
  }
  return jobs.size() == 0;
}

// Finds when jobs are under way, as the host sees them.
class JobsUnderWay {
 public:
  JobsUnderWay() = default;
  explicit JobsUnderWay(const model::Jobs& jobs) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs.submit_ns[i] == model::kNoTime || jobs.complete_ns[i] == model::kNoTime) continue;
      ends_.push_back({jobs.submit_ns[i], 1});
      ends_.push_back({jobs.complete_ns[i], -1});
    }
    std::sort(ends_.begin(), ends_.end());
  }
  // Times must not decrease.
  bool operator()(int64_t at_ns) {
    for (; next_ < ends_.size() && ends_[next_].first <= at_ns; ++next_) {
      depth_ += ends_[next_].second;
    }
    return depth_ > 0;
  }
  int64_t Until(int64_t end_ns) const {
    return next_ < ends_.size() ? std::min(end_ns, ends_[next_].first) : end_ns;
  }

 private:
  std::vector<std::pair<int64_t, int>> ends_;
  size_t next_ = 0;
  int64_t depth_ = 0;
};

Sums SumRun(const model::Model& model, const TracerWork& work, const Window& run,
            const Breakdown& breakdown) {
  Sums sums;
  ClassAt event_class(breakdown), recorder_class(breakdown);
  sums.waits_known = KnowsWaits(model);
  JobsUnderWay under_way;
  if (!sums.waits_known) under_way = JobsUnderWay(model.jobs);
  for (const TracerEvent& event : work.events()) {
    if (event.at_ns < run.begin_ns || event.at_ns > run.end_ns) continue;
    const Cost& cost = work.CostOf(event);
    Add(&sums.events, cost);
    sums.by_class[event_class(event.at_ns)] += cost[kMid];
    auto& [events, time] = sums.threads[event.tid];
    ++events;
    Add(&time, cost);
  }
  for (const RecorderWork& row : work.recorder()) {
    const double length = static_cast<double>(row.end_ns - row.begin_ns);
    int64_t at_ns = std::max(row.begin_ns, run.begin_ns);
    const int64_t end_ns = std::min(row.end_ns, run.end_ns);
    while (at_ns < end_ns) {
      const Class of = recorder_class(at_ns);
      const bool waited = under_way(at_ns) || of == kRuntime;
      const int64_t until_ns =
          std::max(at_ns + 1, std::min(recorder_class.Until(end_ns), under_way.Until(end_ns)));
      const double share = static_cast<double>(until_ns - at_ns) / length;
      Add(&sums.recorder, row.cpu_ns, share);
      if (waited) sums.waited_ns += share * row.cpu_ns[kMid];
      if (of == kApplication) sums.beside_ns += share * row.cpu_ns[kMid];
      sums.by_class[of] += share * row.cpu_ns[kMid];
      at_ns = until_ns;
    }
  }
  return sums;
}

// Distributes the additional time of the run to the classes of the host, in which it shows: in
// proportion to what the tracer did there and, if that is not enough (since the device worked
// meanwhile and was waited for less), to the remaining time.
void Distribute(const Sums& sums, const Breakdown& breakdown, Overhead* cost) {
  std::array<double, kNumClasses> off{};
  double direct = 0, left = 0;
  const double whole = static_cast<double>(cost->run.mid_ns);
  for (int c = kNotifying; c < kNumClasses; ++c) {
    off[c] = std::min(sums.by_class[c], static_cast<double>(breakdown.time[c].mid_ns));
    direct += off[c];
    left += static_cast<double>(breakdown.time[c].mid_ns) - off[c];
  }
  const double scale = direct > whole && direct > 0 ? whole / direct : 1;
  const double more = left > 0 ? std::clamp((whole - direct) / left, 0.0, 1.0) : 0;
  const double low = whole > 0 ? std::max(0.0, static_cast<double>(cost->run.lo_ns) / whole) : 0;
  const double high = whole > 0 ? static_cast<double>(cost->run.hi_ns) / whole : 0;
  for (int c = kNotifying; c < kNumClasses; ++c) {
    const double time = static_cast<double>(breakdown.time[c].mid_ns);
    const double mid = std::min(time, scale * off[c] + more * (time - off[c]));
    cost->in_class[c] = ToSpan({low * mid, mid, std::min(time, high * mid)});
  }
}

// The tracer gets the benefit of the doubt: a program may have slept meanwhile.
std::string Advice(const model::Model& model, const Overhead& cost, const Graph& graph,
                   double run_ns) {
  if (cost.share <= kMuchOverhead) return "";
  const bool may_have_slept = graph.size() > 0 && !graph.sleep_known;
  if (may_have_slept && static_cast<double>(cost.run.lo_ns) <= kMuchOverhead * run_ns) return "";
  std::string advice = fmt::format(
      "the tracer took {:.1f} % of the run: its own events and the recorder's work are in it",
      100 * cost.share);
  if (model.accounts.overhead() != "low") {
    advice += "; --overhead low (or --probes driver,device) records less";
  }
  return advice;
}

// Returns by how many ns the graph's run would be shorter without the tracer, under one reading.
double ShorterNs(Replays* replays, Reading reading) {
  Scales without;
  without.without_tracer = true;
  const double share = replays->Run(without, reading) / replays->Run({}, reading);
  return std::clamp(1 - share, 0.0, 1.0) * replays->graph().RunNs();
}

// For traces without a device or with contradictions: all of the delay of the most delayed thread,
// down to nothing, since the device may have worked meanwhile. On one CPU each thread delays the
// others, and so does the recorder.
Cost LongestDelay(const Sums& sums, bool one_cpu) {
  Cost most{};
  for (const auto& [tid, thread] : sums.threads) {
    const Cost& cost = thread.second;
    if (cost[kMid] > most[kMid]) most = cost;
  }
  if (one_cpu) {
    most = sums.events;
    Add(&most, sums.recorder);
  }
  most[kLow] = 0;
  return most;
}

Cost RunLonger(Replays* replays, const Sums& sums, bool one_cpu, double run_ns) {
  const Graph& graph = replays->graph();
  Cost run{};
  if (graph.size() == 0 || replays->Run({}) <= 0) {
    run = LongestDelay(sums, one_cpu);
  } else if (!sums.waits_known) {
    // A thread that waits for a disk most likely slept while the recorder worked, which yields to
    // all others.
    run = LongestDelay(sums, one_cpu);
    if (one_cpu) run[kMid] = std::max(0.0, run[kMid] - sums.waited_ns);
  } else {
    run[kMid] = ShorterNs(replays, {});
    run[kLow] = std::min(ShorterNs(replays, {.tracer = graph.tracer_low}),
                         ShorterNs(replays, {.keep_sleeps = true}));
    run[kHigh] = std::max(ShorterNs(replays, {.tracer = graph.tracer_high}),
                          ShorterNs(replays, {.keep_assumed = false}));
  }
  if (!graph.sleep_known) run[kLow] = std::max(0.0, run[kLow] - sums.beside_ns);
  // Cheaper events need not shorten the run if threads then wait in another order.
  run[kLow] = std::min(run[kLow], run[kMid]);
  run[kHigh] = std::max(run[kHigh], run[kMid]);
  for (double& ns : run) ns = std::clamp(ns, 0.0, run_ns);
  const double indirect_ns = Overhead::IndirectNs(run_ns);
  run[kLow] -= indirect_ns, run[kHigh] += indirect_ns;
  return run;
}

void AddCalibrated(const model::Model& model, const Breakdown& breakdown, const TracerWork& work,
                   const std::function<Replays*()>& replays, Overhead* cost) {
  cost->calibrated = work.known();
  if (!cost->calibrated) return;
  for (const auto& kind : model.accounts.event_costs()) {
    cost->kinds.push_back({kind.kind(), kind.events(), static_cast<double>(kind.cost_ps()) / 1e3,
                           static_cast<double>(kind.error_ps()) / 1e3});
  }
  const Window run = WindowOf(model, breakdown);
  if (run.ns() <= 0) return;
  const Sums sums = SumRun(model, work, run, breakdown);
  cost->events = ToSpan(sums.events);
  cost->recorder = ToSpan(sums.recorder);
  cost->wakes = work.wakes();
  for (const auto& [tid, thread] : sums.threads) {
    cost->threads.push_back({tid, thread.first, ToSpan(thread.second)});
  }
  std::sort(cost->threads.begin(), cost->threads.end(), [](const auto& a, const auto& b) {
    return a.time.mid_ns != b.time.mid_ns ? a.time.mid_ns > b.time.mid_ns : a.tid < b.tid;
  });
  Replays* const replayed = replays();
  cost->run = ToSpan(RunLonger(replayed, sums, model.info.num_cpus() <= 1, run.ns()));
  cost->share = static_cast<double>(cost->run.mid_ns) / run.ns();
  Distribute(sums, breakdown, cost);
  cost->advice = Advice(model, *cost, replayed->graph(), run.ns());
}

}  // namespace

Overhead ComputeOverhead(const model::Model& model, const Breakdown& breakdown,
                         const TracerWork& work, const std::function<Replays*()>& replays) {
  Overhead cost;
  cost.known = model.has_accounts;
  if (!cost.known) return cost;
  cost.cpu_ns = model.accounts.cpu_ns();
  cost.probe_ns = model.accounts.bpf_ns();
  cost.probe_runs = model.accounts.bpf_runs();
  cost.bytes_written = model.accounts.bytes_written();
  cost.rows = model.api.size() + model.ranges.size() + model.host.size() + model.commands.size() +
              model.device_events.size();
  for (const model::Device& device : model.devices) {
    cost.rows += device.counters.size() + device.clock_samples;
  }
  for (size_t i = 0; i < model.jobs.size(); ++i) cost.rows += model.jobs.on_device[i];
  if (model.accounts.stop_ns() > model.info.start_ns()) {
    cost.recorded_ns = model.accounts.stop_ns() - model.info.start_ns();
    const double recorded = static_cast<double>(cost.recorded_ns);
    cost.cpu_share = static_cast<double>(cost.cpu_ns) / recorded;
    cost.probe_share = static_cast<double>(cost.probe_ns) / recorded;
  }
  if (cost.rows > 0) {
    cost.bytes_per_row = static_cast<double>(cost.bytes_written) / static_cast<double>(cost.rows);
  }
  AddCalibrated(model, breakdown, work, replays, &cost);
  return cost;
}

}  // namespace acceltrace::analysis
