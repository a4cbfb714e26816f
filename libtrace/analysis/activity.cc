// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/activity.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libtrace/analysis/sweep.h"
#include "libtrace/model/permute.h"

namespace acceltrace::analysis {
namespace {

// States of the sweep beside those of Doing: from the first start to the last end.
constexpr int kSpan = kNumDoings;

// Lengths on the device's own line of ticks. Rates are looked up for a while at a time.
class Line {
 public:
  Line(const Durations& durations, const Mark& base) : durations_(durations), base_(base) {}

  int64_t At(const Mark& mark) const {
    // Damaged data may lie anywhere.
    constexpr int64_t kFarthest = int64_t{1} << 62;
    return std::clamp(static_cast<int64_t>(mark.ticks - base_.ticks), -kFarthest, kFarthest);
  }
  Edge EdgeOf(const Mark& mark) const { return {At(mark), At(mark), At(mark) + 1}; }

  Amount Length(int64_t from, int64_t to) {
    if (from < from_ || to > to_) {
      from_ = from;
      // Far enough to be worth it, not as far as clocks wander.
      to_ = std::max(to, from + static_cast<int64_t>(1e7 / durations_.nominal_tick_ns()));
      rate_ = durations_.RateBetween(MarkAt(from_), MarkAt(to_));
      if (!rate_.Even()) to_ = from_ - 1;
    }
    if (to_ < from_) return durations_.Exactly(MarkAt(from), MarkAt(to));
    const auto ticks = static_cast<double>(to - from);
    return {ticks * rate_.lo, ticks * rate_.mid, ticks * rate_.hi};
  }

 private:
  Mark MarkAt(int64_t at) const {
    Mark mark = base_;
    mark.ticks += static_cast<uint64_t>(at);
    return mark;
  }

  const Durations& durations_;
  Mark base_;
  int64_t from_ = 0, to_ = -1;
  Rate rate_;
};

void Count(bool certainly, bool probably, bool possibly, const Amount& length, Amount* sum) {
  if (certainly) sum->lo += length.lo;
  if (probably) sum->mid += length.mid;
  if (possibly) sum->hi += length.hi;
}

// The first of a rank, or none of those before it and this.
void CountFirst(int rank, const States& on, const Amount& length, Amount* sum) {
  const uint32_t before = (1u << rank) - 1;
  Count(on.certainly(rank) && (on.possible & before) == 0,
        on.probably(rank) && (on.likely & before) == 0,
        on.possibly(rank) && (on.certain & before) == 0, length, sum);
}

std::vector<Period> Runs(const Activity& activity) {
  const auto& computes = activity.periods[kDoesCompute];
  const auto& transfers = activity.periods[kDoesTransfer];
  std::vector<Period> runs;
  runs.reserve(computes.size() + transfers.size());
  runs.insert(runs.end(), computes.begin(), computes.end());
  runs.insert(runs.end(), transfers.begin(), transfers.end());
  return runs;
}

// Gaps one by one: those that are seen lie between merged periods.
void FindGaps(const Durations& durations, std::vector<Period> runs, Gaps* gaps) {
  uint64_t touches = 0;
  const std::vector<Period> merged = Merged(std::move(runs), &touches);
  for (size_t i = 1; i < merged.size(); ++i) {
    const Amount gap = durations.Elapsed(merged[i - 1].second, merged[i].first);
    gaps->longest = {std::max(gaps->longest.lo, gap.lo), std::max(gaps->longest.mid, gap.mid),
                     std::max(gaps->longest.hi, gap.hi)};
  }
  gaps->count = merged.empty() ? 0 : merged.size() - 1;
  gaps->count_hi = gaps->count + touches;
  if (touches > 0) {
    gaps->longest.hi = std::max(
        gaps->longest.hi, durations.Of(1, 1, 1, merged.front().first, merged.front().first).hi);
  }
}

void Measure(const Durations& durations, Activity* activity) {
  const Mark* base = nullptr;
  for (const auto& periods : activity->periods) {
    for (const auto& [from, to] : periods) {
      if (base == nullptr) base = &from;
      if (!from.SameEpoch(*base) || !to.SameEpoch(*base)) return;
    }
  }
  activity->measured = true;
  {
    Line line(durations, *base);
    Sweep sweep;
    size_t pieces = 1;
    for (const auto& periods : activity->periods) pieces += periods.size();
    sweep.Reserve(pieces);
    for (int doing = 0; doing < kNumDoings; ++doing) {
      for (const auto& [from, to] : activity->periods[doing]) {
        sweep.Add(doing, line.EdgeOf(from), line.EdgeOf(to));
      }
    }
    Period span;
    bool any = false;
    for (const Doing doing : {kDoesCompute, kDoesTransfer}) {
      for (const auto& [from, to] : activity->periods[doing]) {
        if (!any || from.Before(span.first)) span.first = from;
        if (!any || span.second.Before(to)) span.second = to;
        any = true;
      }
    }
    if (any) sweep.Add(kSpan, line.EdgeOf(span.first), line.EdgeOf(span.second));
    constexpr uint32_t kRuns = 1u << kDoesCompute | 1u << kDoesTransfer;
    sweep.Run([&](int64_t from, int64_t to, const States& on) {
      const Amount length = line.Length(from, to);
      for (int doing = 0; doing < kNumDoings; ++doing) {
        CountFirst(doing, on, length, &activity->time[doing]);
      }
      Count((on.certain & kRuns) == kRuns, (on.likely & kRuns) == kRuns,
            (on.possible & kRuns) == kRuns, length, &activity->overlap);
      Count(on.certainly(kSpan) && (on.possible & kRuns) == 0,
            on.probably(kSpan) && (on.likely & kRuns) == 0,
            on.possibly(kSpan) && (on.certain & kRuns) == 0, length, &activity->gaps.total);
    });
  }
  FindGaps(durations, Runs(*activity), &activity->gaps);
}

}  // namespace

std::vector<Period> Merged(std::vector<Period> periods, uint64_t* touches) {
  if (periods.empty()) return periods;
  const uint64_t reference = periods.front().first.ticks;
  // One that is shorter than a tick lies before those that begin in it and go on.
  const auto place = [&](const Mark& mark) {
    return std::make_pair(mark.epoch, static_cast<int64_t>(mark.ticks - reference));
  };
  std::vector<uint32_t> order(periods.size());
  std::iota(order.begin(), order.end(), 0);
  model::SortByKey(
      [&](uint32_t i) { return std::make_pair(place(periods[i].first), place(periods[i].second)); },
      &order);
  model::PermuteValues(order, &periods);
  size_t merged = 1;  // in place
  for (size_t i = 1; i < periods.size(); ++i) {
    const auto& [from, to] = periods[i];
    Period& last = periods[merged - 1];
    if (!from.SameEpoch(last.second) || last.second.Before(from)) {
      periods[merged++] = periods[i];
      continue;
    }
    *touches += from.ticks == last.second.ticks;
    if (last.second.Before(to)) last.second = to;
  }
  periods.resize(merged);
  return periods;
}

std::vector<Activity> FindActivity(const model::Model& model) {
  std::vector<Activity> activities(model.devices.size());
  const model::Commands& commands = model.commands;
  if (activities.size() == 1) {  // most of the time; what is not used costs nothing
    for (auto& periods : activities[0].periods) periods.reserve(commands.size());
    activities[0].periods[kDoesHold].reserve(model.jobs.size());
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    const Doing doing =
        model.devices[commands.device[i]].IsDma(commands.unit[i]) ? kDoesTransfer : kDoesCompute;
    activities[commands.device[i]].periods[doing].emplace_back(MarkOf(commands.start, i),
                                                               MarkOf(commands.end, i));
  }
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (!jobs.on_device[j]) continue;
    activities[jobs.device[j]].periods[kDoesHold].emplace_back(MarkOf(jobs.doorbell, j),
                                                               MarkOf(jobs.completion, j));
  }
  for (Activity& activity : activities) {
    for (const auto& periods : activity.periods) activity.any |= !periods.empty();
  }
  return activities;
}

std::vector<Activity> ComputeActivity(const model::Model& model) {
  std::vector<Activity> activities = FindActivity(model);
  for (size_t d = 0; d < activities.size(); ++d) {
    if (activities[d].any) Measure(Durations(model.devices[d]), &activities[d]);
  }
  return activities;
}

}  // namespace acceltrace::analysis
