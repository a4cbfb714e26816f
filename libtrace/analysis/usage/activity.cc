// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/activity.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/radix.h"
#include "libtrace/analysis/rows/sweep.h"

namespace acceltrace::analysis {
namespace {

// An additional state of the sweep: from the first start to the last end.
constexpr int kSpan = kNumDoings;

// Computes lengths on the device's own line of ticks. Rates are looked up for an interval at a
// time.
class Line {
 public:
  Line(const Durations& durations, const Mark& base) : durations_(durations), base_(base) {}

  Edge EdgeOf(uint64_t ticks) const {
    // The times of damaged data may be anything.
    constexpr int64_t kFarthest = int64_t{1} << 62;
    const int64_t at = std::clamp(static_cast<int64_t>(ticks - base_.ticks), -kFarthest, kFarthest);
    return {at, at, at + 1};
  }

  Amount Length(int64_t from, int64_t to) {
    if (from < from_ || to > to_) {
      from_ = from;
      // Long enough for few lookups, but short compared to how clocks drift.
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

// Counts the state of a rank if none of a lower rank is on.
void CountFirst(int rank, const States& on, const Amount& length, Amount* sum) {
  const uint32_t before = (1u << rank) - 1;
  Count(on.certainly(rank) && (on.possible & before) == 0,
        on.probably(rank) && (on.likely & before) == 0,
        on.possibly(rank) && (on.certain & before) == 0, length, sum);
}

// Reads the ticks of what a device does.
class Ticks {
 public:
  explicit Ticks(const model::Model& model)
      : start_(model.commands.start),
        end_(model.commands.end),
        doorbell_(model.jobs.doorbell),
        completion_(model.jobs.completion) {}

  TickCursor& Begins(Doing doing) { return doing == kDoesHold ? doorbell_ : start_; }
  TickCursor& Ends(Doing doing) { return doing == kDoesHold ? completion_ : end_; }

 private:
  TickCursor start_, end_, doorbell_, completion_;
};

constexpr Doing kAllDoings[] = {kDoesCompute, kDoesTransfer, kDoesHold};

Mark BeginOf(const model::Model& model, const TimeRef& of) {
  return of.of_job ? MarkOf(model.jobs.doorbell, of.row) : MarkOf(model.commands.start, of.row);
}
Mark EndOf(const model::Model& model, const TimeRef& of) {
  return of.of_job ? MarkOf(model.jobs.completion, of.row) : MarkOf(model.commands.end, of.row);
}

// Finds gaps one by one: visible ones are between merged periods.
void FindGaps(const model::Model& model, const Durations& durations, Activity* activity) {
  uint64_t touches = 0;
  const std::vector<Stretch> merged =
      Merged(model, *activity, {kDoesCompute, kDoesTransfer}, &touches);
  Gaps* gaps = &activity->gaps;
  for (size_t i = 1; i < merged.size(); ++i) {
    const Amount gap =
        durations.Elapsed(EndOf(model, merged[i - 1].to), BeginOf(model, merged[i].from));
    gaps->longest = {std::max(gaps->longest.lo, gap.lo), std::max(gaps->longest.mid, gap.mid),
                     std::max(gaps->longest.hi, gap.hi)};
  }
  gaps->count = merged.empty() ? 0 : merged.size() - 1;
  gaps->count_hi = gaps->count + touches;
  if (touches > 0) {
    const Mark first = BeginOf(model, merged.front().from);
    gaps->longest.hi = std::max(gaps->longest.hi, durations.Of(1, 1, 1, first, first).hi);
  }
}

// Returns true if all times belong to one count.
bool OneEpoch(const Activity& activity, Ticks* ticks, uint32_t epoch) {
  if (epoch == clock::kNoEpoch) return false;
  for (const Doing doing : kAllDoings) {
    Cursor<uint32_t>&from = ticks->Begins(doing).epoch, &to = ticks->Ends(doing).epoch;
    for (const uint32_t row : activity.rows[doing]) {
      if (from[row] != epoch || to[row] != epoch) return false;
    }
  }
  return true;
}

// Determines to which sums a combination of states counts; each one is computed when it first
// occurs.
class Kinds {
 public:
  static constexpr int kSums = kNumDoings + 2;  // those of Doing, overlap and gaps
  enum Bound : uint8_t { kLo, kMid, kHi };

  // The result has bit 3 * sum + bound for each of them.
  uint32_t Of(const States& on) {
    uint16_t& known = known_[on.certain | on.possible << kStates | on.likely << 2 * kStates];
    if (known == 0) known = static_cast<uint16_t>(kMet | Find(on));
    return known & ~kMet;
  }

 private:
  static constexpr int kStates = kNumDoings + 1;
  static constexpr uint32_t kMet = 1u << 15;
  static_assert(3 * kSums <= 15);

  static uint32_t Find(const States& on) {
    std::array<Amount, kSums> sums{};
    const Amount one{1, 1, 1};
    for (int doing = 0; doing < kNumDoings; ++doing) CountFirst(doing, on, one, &sums[doing]);
    constexpr uint32_t kRuns = 1u << kDoesCompute | 1u << kDoesTransfer;
    Count((on.certain & kRuns) == kRuns, (on.likely & kRuns) == kRuns,
          (on.possible & kRuns) == kRuns, one, &sums[kNumDoings]);
    Count(on.certainly(kSpan) && (on.possible & kRuns) == 0,
          on.probably(kSpan) && (on.likely & kRuns) == 0,
          on.possibly(kSpan) && (on.certain & kRuns) == 0, one, &sums[kNumDoings + 1]);
    uint32_t bits = 0;
    for (int sum = 0; sum < kSums; ++sum) {
      const Amount& amount = sums[static_cast<size_t>(sum)];
      bits |= (amount.lo > 0 ? 1u << kLo : 0) << 3 * sum;
      bits |= (amount.mid > 0 ? 1u << kMid : 0) << 3 * sum;
      bits |= (amount.hi > 0 ? 1u << kHi : 0) << 3 * sum;
    }
    return bits;
  }

  std::array<uint16_t, 1u << 3 * kStates> known_{};
};

void SweepTicks(const Durations& durations, const Mark& base, Ticks* ticks, Activity* activity) {
  Line line(durations, base);
  Sweep sweep;
  size_t pieces = 1;
  for (const auto& rows : activity->rows) pieces += rows.size();
  sweep.Reserve(pieces);
  uint64_t first = 0, last = 0;  // first and last tick of what runs
  bool any = false;
  for (const Doing doing : kAllDoings) {
    Cursor<uint64_t>&begins = ticks->Begins(doing).ticks, &ends = ticks->Ends(doing).ticks;
    for (const uint32_t row : activity->rows[doing]) {
      const uint64_t from = begins[row], to = ends[row];
      sweep.Add(doing, line.EdgeOf(from), line.EdgeOf(to));
      if (doing == kDoesHold) continue;
      if (!any || static_cast<int64_t>(first - from) > 0) first = from;
      if (!any || static_cast<int64_t>(to - last) > 0) last = to;
      any = true;
    }
  }
  if (any) sweep.Add(kSpan, line.EdgeOf(first), line.EdgeOf(last));
  Kinds kinds;
  std::array<double, 3 * Kinds::kSums> sums{};
  sweep.Run([&](int64_t from, int64_t to, const States& on) {
    const Amount length = line.Length(from, to);
    const double lengths[] = {length.lo, length.mid, length.hi};
    for (uint32_t bits = kinds.Of(on); bits != 0; bits &= bits - 1) {
      const auto at = static_cast<size_t>(std::countr_zero(bits));
      sums[at] += lengths[at % 3];
    }
  });
  const auto amount = [&](int sum) {
    const double* at = &sums[static_cast<size_t>(3 * sum)];
    return Amount{at[Kinds::kLo], at[Kinds::kMid], at[Kinds::kHi]};
  };
  for (int doing = 0; doing < kNumDoings; ++doing) activity->time[doing] = amount(doing);
  activity->overlap = amount(kNumDoings);
  activity->gaps.total = amount(kNumDoings + 1);
}

void Measure(const model::Model& model, const Durations& durations, bool gaps, Activity* activity) {
  const auto ticks = std::make_unique<Ticks>(model);
  for (const Doing doing : kAllDoings) {
    if (activity->rows[doing].empty()) continue;
    const Mark base = BeginOf(model, {activity->rows[doing].front(), doing == kDoesHold});
    if (!OneEpoch(*activity, ticks.get(), base.epoch)) return;
    activity->measured = true;
    SweepTicks(durations, base, ticks.get(), activity);
    if (gaps) FindGaps(model, durations, activity);
    return;
  }
}

// An interval before merging, with its begin on a line of ticks.
struct Piece {
  uint64_t begin;
  TimeRef of;
};

// Sorts by begin and end, otherwise stably.
class InOrder {
 public:
  InOrder(const model::Model& model, const std::vector<Piece>& pieces)
      : model_(model), reference_(BeginOf(model, pieces.front().of).ticks) {}

  void Sort(bool one_epoch, std::vector<Piece>* pieces) {
    if (!one_epoch) {
      std::stable_sort(pieces->begin(), pieces->end(), [this](const Piece& a, const Piece& b) {
        return Place(BeginOf(model_, a.of), EndOf(model_, a.of)) <
               Place(BeginOf(model_, b.of), EndOf(model_, b.of));
      });
      return;
    }
    // Shift the numbers around the reference so that they can be sorted as unsigned ones.
    for (Piece& piece : *pieces) piece.begin += (uint64_t{1} << 63) - reference_;
    SortByNumber([](const Piece& piece) { return piece.begin; }, pieces);
    for (size_t from = 0; from < pieces->size();) {
      size_t to = from + 1;
      while (to < pieces->size() && (*pieces)[to].begin == (*pieces)[from].begin) ++to;
      if (to - from > 1) SortByEnd(from, to, pieces);
      from = to;
    }
  }

 private:
  using Where = std::tuple<uint32_t, int64_t, uint32_t, int64_t>;
  Where Place(const Mark& from, const Mark& to) const {
    return {from.epoch, static_cast<int64_t>(from.ticks - reference_), to.epoch,
            static_cast<int64_t>(to.ticks - reference_)};
  }
  void SortByEnd(size_t from, size_t to, std::vector<Piece>* pieces) const {
    const auto at = [&](size_t i) { return pieces->begin() + static_cast<ptrdiff_t>(i); };
    std::stable_sort(at(from), at(to), [this](const Piece& a, const Piece& b) {
      return static_cast<int64_t>(EndTicks(a.of) - reference_) <
             static_cast<int64_t>(EndTicks(b.of) - reference_);
    });
  }
  uint64_t EndTicks(const TimeRef& of) const {
    return of.of_job ? model_.jobs.completion.ticks[of.row] : model_.commands.end.ticks[of.row];
  }

  const model::Model& model_;
  const uint64_t reference_;
};

}  // namespace

MarkPair PeriodOf(const model::Model& model, const Stretch& stretch) {
  return {BeginOf(model, stretch.from), EndOf(model, stretch.to)};
}

std::vector<Stretch> Merged(const model::Model& model, const Activity& activity,
                            std::initializer_list<Doing> doings, uint64_t* touches) {
  std::vector<Stretch> merged;
  std::vector<Piece> pieces;
  size_t count = 0;
  for (const Doing doing : doings) count += activity.rows[doing].size();
  if (count == 0) return merged;
  pieces.reserve(count);
  const auto ticks = std::make_unique<Ticks>(model);
  for (const Doing doing : doings) {
    Cursor<uint64_t>& begins = ticks->Begins(doing).ticks;
    for (const uint32_t row : activity.rows[doing]) {
      pieces.push_back({begins[row], {row, doing == kDoesHold}});
    }
  }
  const uint32_t epoch = BeginOf(model, pieces.front().of).epoch;
  // Of things that begin in the same tick, those that end first come first.
  InOrder(model, pieces).Sort(OneEpoch(activity, ticks.get(), epoch), &pieces);
  struct Time {
    uint64_t ticks = 0;
    uint32_t epoch = clock::kNoEpoch;
  };
  Time last;  // the latest end so far
  const auto begin_of = [&](const TimeRef& of) {
    TickCursor& at = ticks->Begins(of.of_job ? kDoesHold : kDoesCompute);
    return Time{at.ticks[of.row], at.epoch[of.row]};
  };
  const auto end_of = [&](const TimeRef& of) {
    TickCursor& at = ticks->Ends(of.of_job ? kDoesHold : kDoesCompute);
    return Time{at.ticks[of.row], at.epoch[of.row]};
  };
  for (const Piece& piece : pieces) {
    const TimeRef& of = piece.of;
    const Time from = begin_of(of), to = end_of(of);
    // Ends can only be compared within one count, so others are not merged.
    const bool same =
        from.epoch == last.epoch && to.epoch == last.epoch && last.epoch != clock::kNoEpoch;
    if (merged.empty() || !same || static_cast<int64_t>(from.ticks - last.ticks) > 0) {
      merged.push_back({of, of});
      last = to;
      continue;
    }
    *touches += from.ticks == last.ticks;
    if (static_cast<int64_t>(to.ticks - last.ticks) > 0) merged.back().to = of, last = to;
  }
  return merged;
}

std::vector<Activity> FindActivity(const model::Model& model) {
  std::vector<Activity> activities(model.devices.size());
  const model::Commands& commands = model.commands;
  if (activities.size() == 1) {  // the usual case; unused capacity costs nothing
    for (auto& rows : activities[0].rows) rows.reserve(commands.size());
    activities[0].rows[kDoesHold].reserve(model.jobs.size());
  }
  std::vector<std::vector<uint8_t>> is_dma(model.devices.size());
  for (size_t d = 0; d < model.devices.size(); ++d) {
    const int units = model.devices[d].about.units_size();
    for (uint32_t unit = 0; unit < static_cast<uint32_t>(units); ++unit) {
      is_dma[d].push_back(model.devices[d].IsDma(unit));
    }
  }
  Cursor<uint32_t> device(commands.device), units(commands.unit);
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const uint32_t d = device[i], unit = units[i];
    const bool transfers = unit < is_dma[d].size() && is_dma[d][unit] != 0;
    activities[d].rows[transfers ? kDoesTransfer : kDoesCompute].push_back(i);
  }
  const model::Jobs& jobs = model.jobs;
  Cursor<uint32_t> job_device(jobs.device);
  Cursor<uint8_t> on_device(jobs.on_device);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (on_device[j]) activities[job_device[j]].rows[kDoesHold].push_back(j);
  }
  for (Activity& activity : activities) {
    for (const auto& rows : activity.rows) activity.any |= !rows.empty();
  }
  return activities;
}

std::vector<Activity> ComputeActivity(const model::Model& model, bool gaps) {
  std::vector<Activity> activities = FindActivity(model);
  for (size_t d = 0; d < activities.size(); ++d) {
    if (activities[d].any) Measure(model, Durations(model.devices[d]), gaps, &activities[d]);
  }
  return activities;
}

}  // namespace acceltrace::analysis
