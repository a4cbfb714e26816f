// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace acceltrace::analysis {
namespace {

constexpr struct {
  const char* name;
  const char* text;
  const char* verdict;
} kClasses[kNumClasses] = {
    {"computing", "device computing", "most of the run the device was computing"},
    {"transferring", "only transfers running",
     "data transfers with nothing else to run set the pace"},
    {"holding", "device has work, runs none",
     "the device held jobs without running them: fetching, dispatching or waiting on semaphores"},
    {"notifying", "completion to wake-up", "finished work waited for its interrupt and wake-up"},
    {"ringing", "doorbell under way", "doorbells on their way to the device set the pace"},
    {"driver", "in the driver's submit", "the driver's submit path set the pace"},
    {"runtime", "in an API call", "the runtime's API calls left the device without work"},
    {"application", "application", "the application left the device without work"},
};

// Something begins (+1) or ends (-1).
struct Edge {
  int64_t at_ns;
  int64_t error_ns;  // half the width of a device time, 0 for a host time
  Class of;
  int change;
};

// What runs at once, and when nothing does, from edge to edge.
class Running {
 public:
  // computing, transferring: whether they go on from at_ns.
  void Step(int64_t at_ns, int64_t error_ns, bool computing, bool transferring) {
    const bool runs = computing || transferring, both = computing && transferring;
    if (both_) overlap_.mid_ns += at_ns - last_ns_;
    if (both != both_) overlap_error_ns_ += error_ns;
    if (runs_ && !runs) {
      gap_from_ns_ = at_ns, gap_error_ns_ = error_ns;
    } else if (!runs_ && runs && any_ && at_ns > gap_from_ns_) {
      const int64_t ns = at_ns - gap_from_ns_, error = gap_error_ns_ + error_ns;
      const Span gap{std::max<int64_t>(0, ns - error), ns, ns + error};
      ++gaps_;
      total_ += gap;
      if (ns > longest_.mid_ns) longest_ = gap;
    }
    any_ |= runs;
    runs_ = runs, both_ = both, last_ns_ = at_ns;
  }

  void Tell(Breakdown* result) const {
    result->overlap = {std::max<int64_t>(0, overlap_.mid_ns - overlap_error_ns_), overlap_.mid_ns,
                       std::min(result->RunNs(), overlap_.mid_ns + overlap_error_ns_)};
    result->gaps = gaps_;
    result->gap_total = total_;
    result->gap_longest = longest_;
  }

 private:
  bool any_ = false, runs_ = false, both_ = false;
  int64_t last_ns_ = 0, gap_from_ns_ = 0, gap_error_ns_ = 0, overlap_error_ns_ = 0;
  uint64_t gaps_ = 0;
  Span overlap_, total_, longest_;
};

class Sweep {
 public:
  void Add(Class of, int64_t from_ns, int64_t to_ns, int64_t from_error_ns = 0,
           int64_t to_error_ns = 0) {
    if (to_ns <= from_ns) return;
    edges_.push_back({from_ns, from_error_ns, of, +1});
    edges_.push_back({to_ns, to_error_ns, of, -1});
  }

  // result's begin and end are set.
  void Run(Breakdown* result, std::vector<ClassChange>* changes) {
    for (Edge& edge : edges_) {
      if (edge.at_ns >= result->begin_ns && edge.at_ns <= result->end_ns) continue;
      edge.at_ns = std::clamp(edge.at_ns, result->begin_ns, result->end_ns);
      edge.error_ns = 0;
    }
    // The application's own edges: it has what nothing else has, to the very end.
    edges_.push_back({result->begin_ns, 0, kApplication, +1});
    edges_.push_back({result->end_ns, 0, kApplication, -1});
    std::sort(edges_.begin(), edges_.end(),
              [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
    std::array<int, kNumClasses> open{};
    std::array<int64_t, kNumClasses> error_ns{};
    int64_t last_ns = result->begin_ns;
    Class current = kApplication;
    if (changes != nullptr) changes->push_back({last_ns, current});
    Running running;
    for (size_t i = 0; i < edges_.size();) {
      const int64_t at_ns = edges_[i].at_ns;
      int64_t edge_error_ns = 0;
      for (; i < edges_.size() && edges_[i].at_ns == at_ns; ++i) {
        open[edges_[i].of] += edges_[i].change;
        edge_error_ns = std::max(edge_error_ns, edges_[i].error_ns);
      }
      running.Step(at_ns, edge_error_ns, open[kComputing] > 0, open[kTransferring] > 0);
      const Class before = current;
      result->time[before].mid_ns += at_ns - last_ns;
      if (at_ns > last_ns) {
        if (!result->pieces.empty() && result->pieces.back().of == before) {
          result->pieces.back().end_ns = at_ns;
        } else {
          result->pieces.push_back({at_ns, before});
        }
      }
      last_ns = at_ns;
      current = kApplication;
      for (int c = 0; c < kApplication; ++c) {
        if (open[c] > 0) {
          current = static_cast<Class>(c);
          break;
        }
      }
      if (changes != nullptr && before != current) changes->push_back({at_ns, current});
      // An edge between two states of devices moves no time to or from the host.
      if (before != current && (before > kHolding || current > kHolding)) {
        error_ns[before] += edge_error_ns;
        error_ns[current] += edge_error_ns;
      }
    }
    running.Tell(result);
    for (int c = 0; c < kNumClasses; ++c) {
      Span& span = result->time[c];
      span.lo_ns = std::max<int64_t>(0, span.mid_ns - error_ns[c]);
      span.hi_ns = std::min(result->RunNs(), span.mid_ns + error_ns[c]);
    }
  }

 private:
  std::vector<Edge> edges_;
};

int64_t HalfWidthNs(const model::Interval& at) {
  return std::max(at.hi_ns - at.mid_ns, at.mid_ns - at.lo_ns);
}

void AddJobs(const model::Model& model, Sweep* sweep) {
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.submit_ns[j] != model::kNoTime) {
      const int64_t end_ns = std::max(jobs.submit_end_ns[j], jobs.doorbell_ns[j]);
      if (end_ns != model::kNoTime) sweep->Add(kDriver, jobs.submit_ns[j], end_ns);
    }
    if (!jobs.on_device[j]) continue;
    const model::Interval& doorbell = jobs.doorbell.host[j];
    const model::Interval& completion = jobs.completion.host[j];
    const int64_t doorbell_error_ns = HalfWidthNs(doorbell);
    const int64_t completion_error_ns = HalfWidthNs(completion);
    if (jobs.doorbell_ns[j] != model::kNoTime) {
      sweep->Add(kRinging, jobs.doorbell_ns[j], doorbell.mid_ns, 0, doorbell_error_ns);
    }
    sweep->Add(kHolding, doorbell.mid_ns, completion.mid_ns, doorbell_error_ns,
               completion_error_ns);
    int64_t noticed_ns = jobs.complete_ns[j];
    if (jobs.wait_ns[j] != model::kNoTime && jobs.wait_ns[j] <= jobs.complete_ns[j]) {
      noticed_ns = jobs.wake_ns[j];
    }
    if (noticed_ns != model::kNoTime) {
      sweep->Add(kNotifying, completion.mid_ns, noticed_ns, completion_error_ns, 0);
    }
  }
}

void AddCommands(const model::Model& model, Sweep* sweep, Breakdown* result) {
  const model::Commands& commands = model.commands;
  std::map<std::string, size_t> places;
  const auto limiter = [&](const std::string& name) -> Span& {
    const auto [place, fresh] = places.emplace(name, result->limiters.size());
    if (fresh) result->limiters.emplace_back(name, Span{});
    return result->limiters[place->second].second;
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    const model::Device& device = model.devices[commands.device[i]];
    const model::Interval& start = commands.start.host[i];
    const model::Interval& end = commands.end.host[i];
    sweep->Add(device.IsDma(commands.unit[i]) ? kTransferring : kComputing, start.mid_ns,
               end.mid_ns, HalfWidthNs(start), HalfWidthNs(end));
    limiter(device.LimiterName(commands.limiter[i])) +=
        OnDevice(device, commands.start.ticks[i], commands.end.ticks[i]);
  }
  std::stable_sort(result->limiters.begin(), result->limiters.end(),
                   [](const auto& a, const auto& b) { return a.second.mid_ns > b.second.mid_ns; });
}

void Judge(Breakdown* result) {
  if (result->RunNs() <= 0) {
    result->verdict = "no device was used: the trace holds no jobs and no commands";
    return;
  }
  for (int c = 0; c < kNumClasses; ++c) {
    if (result->time[c].mid_ns > result->time[result->largest].mid_ns) {
      result->largest = static_cast<Class>(c);
    }
  }
  result->certain = true;
  for (int c = 0; c < kNumClasses; ++c) {
    if (c != result->largest && result->time[c].hi_ns >= result->time[result->largest].lo_ns) {
      result->certain = false;
    }
  }
  const double share = 100 * result->Share(result->time[result->largest]);
  result->verdict =
      fmt::format("{} ({:.1f} % of the run)", kClasses[result->largest].verdict, share);
  if (result->largest == kComputing && !result->limiters.empty()) {
    result->verdict +=
        fmt::format("; {} set the time of most commands", result->limiters.front().first);
  }
  if (!result->certain) result->verdict += "; the next class is within its bounds";
}

}  // namespace

const char* ClassName(Class c) { return kClasses[c].name; }
const char* ClassText(Class c) { return kClasses[c].text; }

namespace {

// Sets the run's begin and end; false when no device was used.
bool FindRun(const model::Model& model, Breakdown* result) {
  bool any = false;
  const auto see = [&](int64_t from_ns, int64_t to_ns) {
    result->begin_ns = any ? std::min(result->begin_ns, from_ns) : from_ns;
    result->end_ns = any ? std::max(result->end_ns, to_ns) : to_ns;
    any = true;
  };
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.submit_ns[j] != model::kNoTime) {
      const uint32_t call = jobs.api_row[j];
      const int64_t from_ns = call == model::kNoRow ? jobs.submit_ns[j] : model.api.begin_ns[call];
      see(from_ns, std::max(jobs.submit_ns[j], jobs.submit_end_ns[j]));
    }
    if (jobs.on_device[j]) {
      see(jobs.doorbell.host[j].mid_ns, jobs.completion.host[j].mid_ns);
    }
    for (int64_t at_ns : {jobs.complete_ns[j], jobs.wake_ns[j]}) {
      if (at_ns != model::kNoTime) see(at_ns, at_ns);
    }
    const uint32_t waiter = jobs.wait_api_row[j];
    if (waiter != model::kNoRow && !model.api.open[waiter]) {
      see(model.api.end_ns[waiter], model.api.end_ns[waiter]);
    }
  }
  for (size_t i = 0; i < model.commands.size(); ++i) {
    see(model.commands.fetched.host[i].mid_ns, model.commands.end.host[i].mid_ns);
  }
  if (any) {
    result->before_ns = std::max<int64_t>(0, result->begin_ns - model.begin_ns);
    result->after_ns = std::max<int64_t>(0, model.end_ns - result->end_ns);
  }
  return any && result->end_ns > result->begin_ns;
}

}  // namespace

Breakdown ComputeBreakdown(const model::Model& model, std::vector<ClassChange>* changes) {
  Breakdown result;
  if (!FindRun(model, &result)) {
    Judge(&result);
    return result;
  }
  Sweep sweep;
  AddJobs(model, &sweep);
  AddCommands(model, &sweep, &result);
  for (size_t i = 0; i < model.api.size(); ++i) {
    sweep.Add(kRuntime, model.api.begin_ns[i], model.api.end_ns[i]);
  }
  sweep.Run(&result, changes);
  Judge(&result);
  return result;
}

}  // namespace acceltrace::analysis
