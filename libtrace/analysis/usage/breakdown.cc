// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/sweep.h"
#include "libtrace/analysis/usage/activity.h"

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
    {"unseen", "with a device not seen inside",
     "jobs were under way on devices that are not seen inside"},
    {"notifying", "completion to wake-up", "finished work waited for its interrupt and wake-up"},
    {"ringing", "doorbell under way", "doorbells on their way to the device set the pace"},
    {"driver", "in the driver's submit", "the driver's submit path set the pace"},
    {"runtime", "in an API call", "the runtime's API calls left the device without work"},
    {"application", "application", "the application left the device without work"},
};

Edge EdgeOf(const model::Interval& at) { return {at.lo_ns, at.mid_ns, at.hi_ns}; }
Edge EdgeOf(int64_t host_ns) { return {host_ns, host_ns, host_ns}; }

void Count(bool certainly, bool probably, bool possibly, int64_t ns, Span* sum) {
  if (certainly) sum->lo_ns += ns;
  if (probably) sum->mid_ns += ns;
  if (possibly) sum->hi_ns += ns;
}

constexpr uint32_t kRuns = 1u << kComputing | 1u << kTransferring;

// Finds when nothing ran on any device, between the first start and the last end, on the host's
// clock.
class HostGaps {
 public:
  static constexpr int kSpan = kNumClasses;  // the state of being in between

  void Step(const States& on, int64_t ns, Breakdown* result) {
    const bool certainly = on.certainly(kSpan) && (on.possible & kRuns) == 0;
    const bool probably = on.probably(kSpan) && (on.likely & kRuns) == 0;
    const bool possibly = on.possibly(kSpan) && (on.certain & kRuns) == 0;
    Count(certainly, probably, possibly, ns, &result->gap_total);
    result->gaps += probably && now_.mid_ns == 0;
    // Two gaps are only certain to be separate if something ran in between.
    if ((on.certain & kRuns) != 0) ran_since_ = true;
    if (certainly && std::exchange(ran_since_, false)) ++result->gaps_lo;
    const auto go_on = [ns](bool on, int64_t* now, int64_t* longest) {
      *now = on ? *now + ns : 0;
      *longest = std::max(*longest, *now);
    };
    go_on(certainly, &now_.lo_ns, &result->gap_longest.lo_ns);
    go_on(probably, &now_.mid_ns, &result->gap_longest.mid_ns);
    go_on(possibly, &now_.hi_ns, &result->gap_longest.hi_ns);
  }

 private:
  Span now_;  // the length of the current gap so far
  bool ran_since_ = false;
};

// Collects everything on the host's clock.
class HostLine {
 public:
  // Nothing counts outside of the run, which is given by its edges.
  HostLine(const model::Model& model, const Edge& begin, const Edge& end)
      : model_(model), begin_(begin), end_(end) {
    sweep_.Add(kApplication, begin, end);
  }

  void Reserve(size_t pieces) { sweep_.Reserve(pieces); }
  void Add(Class of, const Edge& from, const Edge& to) { sweep_.Add(of, Clip(from), Clip(to)); }
  void Add(Class of, int64_t from_ns, int64_t to_ns) { Add(of, EdgeOf(from_ns), EdgeOf(to_ns)); }

  // Adds what a device does. If other devices ran as well, each activity is a separate state;
  // otherwise they are a single one, since the device's own clock distinguishes them more
  // precisely.
  void AddDevice(const Durations& durations, const Activity& activity, bool alone) {
    static_assert(static_cast<int>(kDoesCompute) == static_cast<int>(kComputing));
    static_assert(static_cast<int>(kDoesTransfer) == static_cast<int>(kTransferring));
    static_assert(static_cast<int>(kDoesHold) == static_cast<int>(kHolding));
    for (const Doing doing : {kDoesCompute, kDoesTransfer, kDoesHold}) {
      const bool holds = doing == kDoesHold;
      const model::DeviceTimes& begins = holds ? model_.jobs.doorbell : model_.commands.start;
      const model::DeviceTimes& ends = holds ? model_.jobs.completion : model_.commands.end;
      for (const uint32_t row : activity.rows[doing]) {
        if (alone || holds) {
          sweep_.AddLikely(doing, ClipMid(begins.host[row].mid_ns), ClipMid(ends.host[row].mid_ns));
          continue;
        }
        const Edge from = EdgeOf(begins.host[row]), to = EdgeOf(ends.host[row]);
        sweep_.AddLikely(doing, ClipMid(from.mid), ClipMid(to.mid));
        See(from, to);
      }
      if (!alone) AddMerged(durations, activity, doing, {doing});
    }
    if (alone) {
      AddMerged(durations, activity, kHolding, {kDoesCompute, kDoesTransfer, kDoesHold});
    }
  }

  void Run(Breakdown* result) {
    if (any_run_) sweep_.Add(HostGaps::kSpan, Clip(first_start_), Clip(last_end_));
    HostGaps gaps;
    StateTimes times;
    sweep_.Run([&](int64_t from, int64_t to, const States& on) {
      const int64_t ns = to - from;
      times.Add(on, ns);
      if (any_run_) gaps.Step(on, ns, result);
      if (on.probably(kApplication)) {
        const auto of = static_cast<Class>(std::countr_zero(on.likely));
        if (result->pieces.empty() || result->pieces.back().of != of) {
          result->pieces.push_back({to, of});
        }
        result->pieces.back().end_ns = to;
      }
    });
    times.Each([&](const States& on, int64_t ns) { CountClasses(on, ns, result); });
    // Where periods touch, something else may have been on for less than a tick.
    const auto hidden_ns = static_cast<int64_t>(std::ceil(hidden_ns_));
    const auto widen = [hidden_ns](Span* span) {
      span->lo_ns = std::max<int64_t>(0, span->lo_ns - hidden_ns);
      span->hi_ns += hidden_ns;
    };
    for (Span& span : result->time) widen(&span);
    widen(&result->overlap);
    widen(&result->gap_total);
    result->gaps_hi = result->gaps + pieces_;
  }

 private:
  static void CountClasses(const States& on, int64_t ns, Breakdown* result) {
    for (int c = 0; c < kNumClasses; ++c) {
      const uint32_t before = (1u << c) - 1;
      Count(on.certainly(kApplication) && on.certainly(c) && (on.possible & before) == 0,
            on.probably(kApplication) && on.probably(c) && (on.likely & before) == 0,
            on.possibly(kApplication) && on.possibly(c) && (on.certain & before) == 0, ns,
            &result->time[c]);
    }
    Count((on.certain & kRuns) == kRuns, (on.likely & kRuns) == kRuns,
          (on.possible & kRuns) == kRuns, ns, &result->overlap);
  }

  void AddMerged(const Durations& durations, const Activity& activity, int state,
                 std::initializer_list<Doing> doings) {
    uint64_t touches = 0;
    const std::vector<Stretch> merged = Merged(model_, activity, doings, &touches);
    for (const Stretch& stretch : merged) {
      const auto [from, to] = PeriodOf(model_, stretch);
      sweep_.AddBounds(state, Clip(EdgeOf(from.host)), Clip(EdgeOf(to.host)));
    }
    pieces_ += merged.size() + touches;
    if (touches == 0) return;
    const auto [from, to] = PeriodOf(model_, merged.front());
    hidden_ns_ += static_cast<double>(touches) * durations.Of(1, 1, 1, from, to).hi;
  }

  void See(const Edge& from, const Edge& to) {
    if (!any_run_) first_start_ = from, last_end_ = to;
    any_run_ = true;
    first_start_ = {std::min(first_start_.lo, from.lo), std::min(first_start_.mid, from.mid),
                    std::min(first_start_.hi, from.hi)};
    last_end_ = {std::max(last_end_.lo, to.lo), std::max(last_end_.mid, to.mid),
                 std::max(last_end_.hi, to.hi)};
  }

  int64_t ClipMid(int64_t mid_ns) const { return std::clamp(mid_ns, begin_.mid, end_.mid); }
  Edge Clip(const Edge& edge) const {
    return {std::clamp(edge.lo, begin_.lo, end_.hi), ClipMid(edge.mid),
            std::clamp(edge.hi, begin_.lo, end_.hi)};
  }

  const model::Model& model_;
  Edge begin_, end_;
  Sweep sweep_;
  // For gaps, unless there is a single device, whose own clock determines them.
  bool any_run_ = false;
  Edge first_start_, last_end_;
  double hidden_ns_ = 0;
  uint64_t pieces_ = 0;
};

void AddJobs(const model::Model& model, HostLine* line) {
  const model::Jobs& jobs = model.jobs;
  Cursor<int64_t> submit_ns(jobs.submit_ns), submit_end_ns(jobs.submit_end_ns);
  Cursor<int64_t> doorbell_ns(jobs.doorbell_ns), complete_ns(jobs.complete_ns);
  Cursor<int64_t> wait_ns(jobs.wait_ns);
  Cursor<uint8_t> on_device(jobs.on_device);
  Cursor<uint32_t> device(jobs.device);
  for (size_t j = 0; j < jobs.size(); ++j) {
    const int64_t rung_ns = doorbell_ns[j];
    if (submit_ns[j] != model::kNoTime) {
      const int64_t end_ns = std::max(submit_end_ns[j], rung_ns);
      if (end_ns != model::kNoTime) line->Add(kDriver, submit_ns[j], end_ns);
    }
    if (!on_device[j]) {
      const bool inside = device[j] != model::kNoRow && HasInside(model.devices[device[j]]);
      if (!inside && submit_ns[j] != model::kNoTime && complete_ns[j] != model::kNoTime) {
        line->Add(kUnseen, submit_ns[j], complete_ns[j]);
      }
      continue;
    }
    if (rung_ns != model::kNoTime) {
      line->Add(kRinging, EdgeOf(rung_ns), EdgeOf(jobs.doorbell.host[j]));
    }
    int64_t noticed_ns = complete_ns[j];
    if (wait_ns[j] != model::kNoTime && wait_ns[j] <= noticed_ns) noticed_ns = jobs.wake_ns[j];
    if (noticed_ns != model::kNoTime) {
      line->Add(kNotifying, EdgeOf(jobs.completion.host[j]), EdgeOf(noticed_ns));
    }
  }
}

// Sums up the time in which each limiter limited commands.
void AddLimiters(const model::Model& model, Breakdown* result) {
  const model::Commands& commands = model.commands;
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  // By name, since devices may number them differently, and by unit, since the commands of a unit
  // do not overlap.
  std::map<std::string, std::map<std::pair<uint32_t, uint32_t>, UnitSum>> sums;
  std::map<std::array<uint32_t, 3>, UnitSum*> known;  // the same, by numbers
  for (const uint32_t i : RowsByStart(model)) {
    const uint32_t device = commands.device[i];
    UnitSum*& sum = known[{device, commands.unit[i], commands.limiter[i]}];
    if (sum == nullptr) {
      auto& units = sums[model.devices[device].LimiterName(commands.limiter[i])];
      sum = &units.try_emplace({device, commands.unit[i]}, &times[device]).first->second;
    }
    sum->Add(MarkOf(commands.start, i), MarkOf(commands.end, i));
  }
  for (const auto& [name, units] : sums) {
    Amount time;
    for (const auto& [unit, sum] : units) time += sum.sum();
    result->limiters.emplace_back(name, time.Round());
  }
  std::stable_sort(result->limiters.begin(), result->limiters.end(),
                   [](const auto& a, const auto& b) { return a.second.mid_ns > b.second.mid_ns; });
}

// Uses the bounds from the device's own clock instead of the host's. The estimate stays, so that
// the classes add up.
void TakeMeasured(const Activity& activity, Breakdown* result) {
  const auto take = [](const Amount& amount, Span* span) {
    const Span measured = amount.Round();
    span->lo_ns = std::min(measured.lo_ns, span->mid_ns);
    span->hi_ns = std::max(measured.hi_ns, span->mid_ns);
  };
  take(activity.time[kDoesCompute], &result->time[kComputing]);
  take(activity.time[kDoesTransfer], &result->time[kTransferring]);
  take(activity.time[kDoesHold], &result->time[kHolding]);
  take(activity.overlap, &result->overlap);
  result->gap_total = activity.gaps.total.Round();
  result->gap_longest = activity.gaps.longest.Round();
  result->gaps = result->gaps_lo = activity.gaps.count;
  result->gaps_hi = activity.gaps.count_hi;
}

// Since the classes cover the run, each one is bounded by what the others leave.
void AddUp(Breakdown* result) {
  const std::array<Span, kNumClasses> known = result->time;
  for (int c = 0; c < kNumClasses; ++c) {
    __int128 others_lo = 0, others_hi = 0;
    for (int other = 0; other < kNumClasses; ++other) {
      if (other == c) continue;
      others_lo += known[other].lo_ns;
      others_hi += known[other].hi_ns;
    }
    Span& span = result->time[c];
    const auto left = [](int64_t run_ns, __int128 others) {
      return static_cast<int64_t>(std::max<__int128>(0, run_ns - others));
    };
    span.lo_ns = std::max(span.lo_ns, left(result->run.lo_ns, others_hi));
    span.hi_ns = std::min({span.hi_ns, left(result->run.hi_ns, others_lo), result->run.hi_ns});
    // If edges contradict each other, keep a valid interval around the estimate.
    span.lo_ns = std::min(span.lo_ns, span.mid_ns);
    span.hi_ns = std::max(span.hi_ns, span.mid_ns);
  }
}

void FindLargest(Breakdown* result) {
  for (int c = 0; c < kNumClasses; ++c) {
    if (result->time[c].mid_ns > result->time[result->largest].mid_ns) {
      result->largest = static_cast<Class>(c);
    }
  }
}

void Judge(const model::Model& model, Breakdown* result) {
  if (result->RunNs() <= 0) {
    result->verdict = std::string("no device was used: ") +
                      (model.cut.any() ? "the part that was selected" : "the trace") +
                      " holds no jobs and no commands";
    return;
  }
  result->certain = true;
  for (int c = 0; c < kNumClasses; ++c) {
    if (c != result->largest && result->time[c].hi_ns >= result->time[result->largest].lo_ns) {
      result->certain = false;
    }
  }
  const double share = 100 * result->Share(result->time[result->largest]).mid;
  result->verdict =
      fmt::format("{} ({:.1f} % of the run)", kClasses[result->largest].verdict, share);
  if (result->largest == kComputing && !result->limiters.empty()) {
    result->verdict +=
        fmt::format("; {} set the pace of most of it", result->limiters.front().first);
  }
  if (!result->certain) result->verdict += "; the next class is within its bounds";
}

}  // namespace

bool HasInside(const model::Device& device) { return device.about.units_size() > 0; }

const char* ClassName(Class c) { return kClasses[c].name; }
const char* ClassText(Class c) { return kClasses[c].text; }

namespace {

// Finds the run's begin and end. Returns false if no device was used. A device's times only count
// where the host did not record what came before and after them.
bool FindRun(const model::Model& model, Edge* begin, Edge* end) {
  bool any = false;
  const auto see = [&](const Edge& from, const Edge& to) {
    if (!any) *begin = from, *end = to;
    any = true;
    *begin = {std::min(begin->lo, from.lo), std::min(begin->mid, from.mid),
              std::min(begin->hi, from.hi)};
    *end = {std::max(end->lo, to.lo), std::max(end->mid, to.mid), std::max(end->hi, to.hi)};
  };
  const auto at = [&](const Edge& edge) { see(edge, edge); };
  const model::Jobs& jobs = model.jobs;
  {
    Cursor<int64_t> submit_ns(jobs.submit_ns), submit_end_ns(jobs.submit_end_ns);
    Cursor<int64_t> complete_ns(jobs.complete_ns), wake_ns(jobs.wake_ns);
    Cursor<uint32_t> calls(jobs.api_row), waiters(jobs.wait_api_row);
    Cursor<uint8_t> on_device(jobs.on_device);
    for (size_t j = 0; j < jobs.size(); ++j) {
      const bool begun = submit_ns[j] != model::kNoTime;
      const bool ended = complete_ns[j] != model::kNoTime;
      if (begun) {
        const uint32_t call = calls[j];
        at(EdgeOf(call == model::kNoRow ? submit_ns[j] : model.api.begin_ns[call]));
        at(EdgeOf(std::max(submit_ns[j], submit_end_ns[j])));
      }
      if (on_device[j] && !begun) at(EdgeOf(jobs.doorbell.host[j]));
      if (on_device[j] && !ended) at(EdgeOf(jobs.completion.host[j]));
      for (const int64_t at_ns : {complete_ns[j], wake_ns[j]}) {
        if (at_ns != model::kNoTime) at(EdgeOf(at_ns));
      }
      const uint32_t waiter = waiters[j];
      if (waiter != model::kNoRow && !model.api.open[waiter]) at(EdgeOf(model.api.end_ns[waiter]));
    }
  }
  Cursor<uint32_t> job_row(model.commands.job_row);
  Cursor<int64_t> submit_ns(jobs.submit_ns), complete_ns(jobs.complete_ns);
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const uint32_t job = job_row[i];
    const bool known = job != model::kNoRow;
    if (!known || submit_ns[job] == model::kNoTime) at(EdgeOf(model.commands.fetched.host[i]));
    if (!known || complete_ns[job] == model::kNoTime) at(EdgeOf(model.commands.end.host[i]));
  }
  return any;
}

}  // namespace

Breakdown ComputeBreakdown(const model::Model& model, BreakdownParts parts) {
  Breakdown result;
  Edge begin, end;
  const bool any = FindRun(model, &begin, &end);
  if (any) {
    result.begin_ns = begin.mid, result.end_ns = end.mid;
    result.before_ns = std::max<int64_t>(0, result.begin_ns - model.begin_ns);
    result.after_ns = std::max<int64_t>(0, model.end_ns - result.end_ns);
    result.run = Lapse({begin.lo, begin.mid, begin.hi}, {end.lo, end.mid, end.hi});
  }
  if (result.RunNs() <= 0) {
    Judge(model, &result);
    return result;
  }
  std::vector<Activity> activities = ComputeActivity(model, parts == BreakdownParts::kAll);
  const auto active = [](const Activity& activity) { return activity.any; };
  const bool alone = std::count_if(activities.begin(), activities.end(), active) == 1;
  {
    HostLine line(model, begin, end);
    line.Reserve(4 * model.jobs.size() + model.commands.size() + model.api.size() + 2);
    AddJobs(model, &line);
    for (size_t d = 0; d < activities.size(); ++d) {
      if (!activities[d].any) continue;
      line.AddDevice(Durations(model.devices[d]), activities[d], alone && activities[d].measured);
      activities[d].rows = {};
    }
    Cursor<int64_t> begin_ns(model.api.begin_ns), end_ns(model.api.end_ns);
    for (size_t i = 0; i < model.api.size(); ++i) line.Add(kRuntime, begin_ns[i], end_ns[i]);
    line.Run(&result);
  }
  if (alone) {
    const auto one = std::find_if(activities.begin(), activities.end(), active);
    if (one->measured) TakeMeasured(*one, &result);
  }
  AddUp(&result);
  FindLargest(&result);
  if (parts == BreakdownParts::kAll || result.largest == kComputing) AddLimiters(model, &result);
  Judge(model, &result);
  result.pieces.shrink_to_fit();  // it is kept as long as the report
  return result;
}

}  // namespace acceltrace::analysis
