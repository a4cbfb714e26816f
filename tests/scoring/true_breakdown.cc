// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/true_breakdown.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace acceltrace::scoring {
namespace {

// In the order of docs/analysis.md: the first one that holds at an instant gets it.
constexpr const char* kClasses[] = {"computing", "transferring", "holding", "notifying",
                                    "ringing",   "driver",       "runtime", "application"};
enum { kComputing, kTransferring, kHolding, kNotifying, kRinging, kDriver, kRuntime, kApplication };
constexpr int kNumClasses = kApplication + 1;

class Line {
 public:
  void Add(int of, double from, double to) {
    from = std::max(from, begin), to = std::min(to, end);
    if (from >= to) return;
    edges_.push_back({from, of, +1});
    edges_.push_back({to, of, -1});
  }

  TrueBreakdown Run() {
    TrueBreakdown result;
    result.run = end - begin;
    std::sort(edges_.begin(), edges_.end(),
              [](const Edge& a, const Edge& b) { return a.at < b.at; });
    double times[kNumClasses] = {}, last = begin, gap_from = NAN;
    int open[kNumClasses] = {};
    open[kApplication] = 1;
    bool ran = false;
    for (size_t i = 0; i < edges_.size();) {
      const double at = edges_[i].at;
      int first = 0;
      while (open[first] == 0) ++first;
      times[first] += at - last;
      if (open[kComputing] > 0 && open[kTransferring] > 0) result.overlap += at - last;
      last = at;
      for (; i < edges_.size() && edges_[i].at == at; ++i) open[edges_[i].of] += edges_[i].change;
      const bool runs = open[kComputing] + open[kTransferring] > 0;
      if (ran && !runs) gap_from = at;
      if (!ran && runs && !std::isnan(gap_from)) {
        ++result.gaps;
        result.gap_total += at - gap_from;
        result.gap_longest = std::max(result.gap_longest, at - gap_from);
      }
      ran = runs;
    }
    times[kApplication] += end - last;
    for (int c = 0; c < kNumClasses; ++c) result.classes[kClasses[c]] = times[c];
    return result;
  }

  double begin = INFINITY, end = -INFINITY;

 private:
  struct Edge {
    double at;
    int of, change;
  };
  std::vector<Edge> edges_;
};

void FindRun(const model::Model& model, const RunTruth& truth, Line* line) {
  const auto see = [line](double ns) {
    line->begin = std::min(line->begin, ns);
    line->end = std::max(line->end, ns);
  };
  const auto host = [&see](int64_t ns) {
    if (ns != model::kNoTime) see(static_cast<double>(ns));
  };
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    for (int64_t ns :
         {jobs.submit_ns[j], jobs.submit_end_ns[j], jobs.complete_ns[j], jobs.wake_ns[j]}) {
      host(ns);
    }
    if (jobs.submit_ns[j] != model::kNoTime && jobs.api_row[j] != model::kNoRow) {
      host(model.api.begin_ns[jobs.api_row[j]]);
    }
    const uint32_t waiter = jobs.wait_api_row[j];
    if (waiter != model::kNoRow && !model.api.open[waiter]) host(model.api.end_ns[waiter]);
    if (!jobs.on_device[j]) continue;
    see(truth.jobs[j].doorbell);
    see(truth.jobs[j].completion);
  }
  for (const CommandTruth& command : truth.commands) see(command.fetched), see(command.end);
}

}  // namespace

TrueBreakdown BreakDown(const model::Model& model, const RunTruth& truth) {
  Line line;
  FindRun(model, truth, &line);
  const model::Jobs& jobs = model.jobs;
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const bool dma = model.devices[model.commands.device[i]].IsDma(model.commands.unit[i]);
    line.Add(dma ? kTransferring : kComputing, truth.commands[i].start, truth.commands[i].end);
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    const auto at = [](int64_t ns) { return static_cast<double>(ns); };
    if (jobs.submit_ns[j] != model::kNoTime) {
      line.Add(kDriver, at(jobs.submit_ns[j]),
               at(std::max(jobs.submit_end_ns[j], jobs.doorbell_ns[j])));
    }
    if (!jobs.on_device[j]) continue;
    const JobTruth& job = truth.jobs[j];
    line.Add(kHolding, job.doorbell, job.completion);
    if (jobs.doorbell_ns[j] != model::kNoTime)
      line.Add(kRinging, at(jobs.doorbell_ns[j]), job.doorbell);
    const bool waited = jobs.wait_ns[j] != model::kNoTime && jobs.wait_ns[j] <= jobs.complete_ns[j];
    const int64_t noticed_ns = waited ? jobs.wake_ns[j] : jobs.complete_ns[j];
    if (noticed_ns != model::kNoTime) line.Add(kNotifying, job.completion, at(noticed_ns));
  }
  for (size_t i = 0; i < model.api.size(); ++i) {
    line.Add(kRuntime, static_cast<double>(model.api.begin_ns[i]),
             static_cast<double>(model.api.end_ns[i]));
  }
  return line.Run();
}

}  // namespace acceltrace::scoring
