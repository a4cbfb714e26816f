// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "libtrace/analysis/rows/phase_jobs.h"

namespace acceltrace::analysis {
namespace {

using Kind = Phase::Kind;
using Job = PhaseJob;
using Jobs = PhaseJobs;
using Opcodes = PhaseJobs::Opcodes;
// The jobs [first, last) of one phase.
struct Part {
  size_t first = 0, last = 0;
  Kind kind = Kind::kWork;
  uint64_t rounds = 0;
};

struct Load {
  double work = 0, of_each = 0;  // matrix work, in total and per command
  bool IsLarger(const Load& than) const {
    return than.work > 0 && work >= Phase::kLike * than.work &&
           of_each >= Phase::kLike * than.of_each;
  }
};

Load LoadOf(const std::vector<Job>& jobs, size_t first, size_t last) {
  uint64_t commands = 0;
  Load load;
  for (size_t i = first; i < last; ++i) {
    load.work += static_cast<double>(jobs[i].matrix_work), commands += jobs[i].matrix_commands;
  }
  load.of_each = commands > 0 ? load.work / static_cast<double>(commands) : 0;
  return load;
}

// Returns the lower median of each.
Load MedianOf(const std::vector<Load>& loads) {
  std::vector<double> work, of_each;
  for (const Load& load : loads) work.push_back(load.work), of_each.push_back(load.of_each);
  std::sort(work.begin(), work.end()), std::sort(of_each.begin(), of_each.end());
  const size_t middle = (loads.size() - 1) / 2;
  return {work[middle], of_each[middle]};
}

struct Train {
  size_t first = 0, last = 0, period = 0;
  size_t jobs() const { return last - first; }
  bool is_long() const { return period > 0 && jobs() >= Phase::kRepeats * period; }
  // Few rounds suffice if each has many jobs.
  bool is_wide() const {
    return period >= Phase::kLongRound && jobs() >= Phase::kLongRepeats * period;
  }
};

// Returns those distances between a job and the previous job like it that cover most jobs.
std::vector<size_t> LikelyPeriods(const std::vector<Job>& jobs, size_t first, size_t last) {
  constexpr size_t kTried = 16;
  std::map<uint32_t, size_t> seen;
  std::map<size_t, size_t> covered;
  for (size_t i = first; i < last; ++i) {
    const auto [at, fresh] = seen.try_emplace(jobs[i].alike, i);
    if (!fresh) covered[i - at->second] += i - at->second;
    at->second = i;
  }
  std::vector<std::pair<size_t, size_t>> by_cover;
  for (const auto& [distance, cover] : covered) by_cover.emplace_back(cover, distance);
  std::sort(by_cover.rbegin(), by_cover.rend());
  std::vector<size_t> periods;
  for (const auto& [cover, distance] : by_cover) {
    if (periods.size() < kTried) periods.push_back(distance);
  }
  std::sort(periods.begin(), periods.end());
  return periods;
}

Train LongestTrain(const std::vector<Job>& jobs, size_t first, size_t last, size_t most_period) {
  Train longest, widest;
  for (const size_t period : LikelyPeriods(jobs, first, last)) {
    if (period > most_period) continue;
    size_t since = first, computed = 0;  // `computed` is one after the last job that computes
    for (size_t i = first; i <= last; ++i) {
      if (i < last && jobs[i].computes) computed = i + 1;
      if (i < last && (i < since + period || jobs[i].alike == jobs[i - period].alike)) continue;
      const Train train{since, i, period};
      if (computed > since && train.is_long() && train.jobs() > longest.jobs()) longest = train;
      if (computed > since && train.is_wide() && train.jobs() > widest.jobs()) widest = train;
      since = i + 1 - period;
    }
  }
  // A round that includes whatever else repeats has all of that at least twice.
  return widest.jobs() > 2 * longest.jobs() ? widest : longest;
}

// Returns how many jobs of a train come before its first round.
size_t BeforeRounds(const Jobs& jobs, const Train& train) {
  const std::vector<Job>& list = jobs.list();
  size_t best = 0;
  int best_sign = -1;
  for (size_t r = 0; r < train.period; ++r) {
    const size_t begin = train.first + train.period + r;
    const Train rest{train.first + r, train.last, train.period};
    if (!rest.is_long() && (train.is_long() || !rest.is_wide())) break;
    const int sign = list[begin - 1].bytes_out > 0 ? 2 : jobs.WaitedBefore(begin) ? 1 : 0;
    // Of several copies to the host in a row, a round ends after the last one.
    const bool inside = sign == 2 && list[begin].bytes_out > 0 && !list[begin].computes;
    if (!inside && sign > best_sign) best = r, best_sign = sign;
  }
  return best;
}

class Finder {
 public:
  // `depth` limits how often requests are searched within what repeats.
  Finder(const Jobs& jobs, double run_ns, int depth, size_t most_period = SIZE_MAX)
      : jobs_(jobs),
        list_(jobs.list()),
        run_ns_(run_ns),
        depth_(depth),
        most_period_(most_period),
        to_look_at_(kMostSearches * (list_.size() + 1)) {}
  static constexpr int kDepth = 3;

  // Adds jobs without an idle time in between.
  void Add(size_t first, size_t last) {
    begin_ = parts.size();
    AddTrains(first, last, nullptr);
  }

  std::vector<Part> parts;
  std::vector<Train> trains;  // beginning with their first round

 private:
  // `next` is the train that follows. Returns true if these jobs end with its prefill.
  bool AddTrains(size_t first, size_t last, const Part* next) {
    while (first < last) {
      tired_ |= last - first > to_look_at_;
      if (tired_) return AddPlain(first, last, next);
      to_look_at_ -= last - first;
      const Train train = LongestTrain(list_, first, last, most_period_);
      if (train.jobs() == 0) return AddPlain(first, last, next);
      const size_t begin = train.first + BeforeRounds(jobs_, train);
      if (!AddRequests(first, train)) AddTrain(first, begin, train);
      first = train.last;
    }
    return false;
  }

  // Requests of the same length repeat as a whole; what each of them does is more informative.
  bool AddRequests(size_t first, const Train& train) {
    if (depth_ == 0 || train.period < 2) return false;
    Finder inner(jobs_, run_ns_, depth_ - 1, train.period - 1);
    inner.Add(train.first, train.last);
    const auto prefills = std::count_if(inner.parts.begin(), inner.parts.end(),
                                        [](const Part& p) { return p.kind == Kind::kPrefill; });
    if (prefills < 2 || inner.tired_) return false;
    AddTrains(first, train.first, nullptr);
    parts.insert(parts.end(), inner.parts.begin(), inner.parts.end());
    trains.insert(trains.end(), inner.trains.begin(), inner.trains.end());
    return true;
  }

  void AddTrain(size_t first, size_t begin, const Train& train) {
    std::vector<size_t> edges;
    for (size_t i = begin; i + train.period <= train.last; i += train.period) edges.push_back(i);
    const size_t rounds = edges.size();
    trains.push_back({begin, train.last, train.period});
    edges.push_back(train.last);
    std::vector<Load> loads;
    for (size_t r = 0; r < rounds; ++r)
      loads.push_back(LoadOf(list_, edges[r], edges[r] + train.period));
    const std::vector<bool> large = LargeRounds(loads);
    const bool any = std::find(large.begin(), large.end(), true) != large.end();
    Part usual{begin, train.last, Kind::kRounds, rounds};
    const bool before = AddTrains(first, begin, any ? nullptr : &usual);
    const Kind small = any || before ? Kind::kDecode : Kind::kRounds;
    for (size_t r = 0; r < rounds; ++r) {
      const Kind kind = large[r] ? Kind::kPrefill : small;
      if (r == 0 || large[r] != large[r - 1]) parts.push_back({edges[r], edges[r], kind, 0});
      parts.back().last = edges[r + 1], ++parts.back().rounds;
    }
  }

  // Works backwards, since each round is compared with those that follow; the last ones are
  // compared with those before.
  static std::vector<bool> LargeRounds(const std::vector<Load>& loads) {
    std::vector<bool> large(loads.size());
    if (loads.size() <= Phase::kRepeats) {
      // Compare the first round with all others, if these are alike.
      const std::vector<Load> rest(loads.begin() + 1, loads.end());
      const bool alike = std::none_of(rest.begin(), rest.end(), [&](const Load& load) {
        return std::any_of(rest.begin(), rest.end(),
                           [&](const Load& other) { return load.IsLarger(other); });
      });
      large[0] = alike && loads[0].IsLarger(MedianOf(rest));
      return large;
    }
    std::vector<Load> small;  // the nearest ones that follow
    bool any = false;
    for (size_t r = loads.size(); r-- > 0;) {
      large[r] = small.size() >= Phase::kRepeats && loads[r].IsLarger(MedianOf(small));
      any |= large[r];
      if (large[r]) continue;
      if (small.size() >= Phase::kRepeats) small.erase(small.begin());
      small.push_back(loads[r]);
    }
    if (!any) return large;
    for (size_t r = loads.size() - Phase::kRepeats; r < loads.size(); ++r) {
      std::vector<Load> before;
      for (size_t b = r; b-- > 0 && before.size() < Phase::kRepeats;) {
        if (!large[b]) before.push_back(loads[b]);
      }
      if (!before.empty()) large[r] = large[r] || loads[r].IsLarger(MedianOf(before));
    }
    return large;
  }

  // Adds jobs outside of trains. Returns true if they end with the prefill of the train after them.
  bool AddPlain(size_t first, size_t last, const Part* train) {
    if (first == last) return false;
    size_t computes = first;
    uint64_t in = 0, out = 0;
    for (; computes < last && !list_[computes].computes; ++computes)
      in += list_[computes].bytes_in, out += list_[computes].bytes_out;
    const bool follows = computes < list_.size();
    if (computes > first && in > 0 && out == 0 && follows && IsWorthAPart(first, computes)) {
      parts.push_back({first, computes, Kind::kLoad, 0});
      first = computes;
    } else if (computes == last && parts.size() > begin_) {
      parts.back().last = last;  // copies of results
      return false;
    }
    if (first == last) return false;
    const bool prefill = train != nullptr && IsPrefill(first, last, *train);
    parts.push_back({first, last, prefill ? Kind::kPrefill : Kind::kWork, 0});
    return prefill;
  }

  bool IsWorthAPart(size_t first, size_t last) const {
    if (parts.size() == begin_) return true;
    int64_t done_ns = list_[first].done_ns;
    for (size_t i = first; i < last; ++i) done_ns = std::max(done_ns, list_[i].done_ns);
    return static_cast<double>(done_ns) - static_cast<double>(list_[first].begin_ns) >=
           Phase::kLeastShare * run_ns_;
  }

  bool IsPrefill(size_t first, size_t last, const Part& train) const {
    Load of_round = LoadOf(list_, train.first, train.last);
    of_round.work /= static_cast<double>(train.rounds);
    if (!LoadOf(list_, first, last).IsLarger(of_round)) return false;
    Opcodes used, needed;
    for (size_t i = first; i < train.last; ++i) {
      if (!list_[i].computes) continue;
      Opcodes& to = i < last ? used : needed;
      to.insert(jobs_.OpcodesOf(list_[i]).begin(), jobs_.OpcodesOf(list_[i]).end());
    }
    return std::includes(used.begin(), used.end(), needed.begin(), needed.end());
  }

  static constexpr size_t kMostSearches = 64;  // in total over all jobs
  const Jobs& jobs_;
  const std::vector<Job>& list_;
  const double run_ns_;
  const int depth_;
  const size_t most_period_;
  size_t to_look_at_;
  bool tired_ = false;
  size_t begin_ = 0;  // index in `parts` of the first part since the last idle time
};

// Returns true if there is a time of least_ns in which no call is under way.
bool IsQuiet(const model::Model& model, int64_t begin_ns, int64_t end_ns, double least_ns) {
  std::vector<std::pair<int64_t, int64_t>> calls;
  for (size_t c = 0; c < model.api.size(); ++c) {
    if (model.api.end_ns[c] > begin_ns && model.api.begin_ns[c] < end_ns)
      calls.emplace_back(model.api.begin_ns[c], model.api.end_ns[c]);
  }
  calls.emplace_back(end_ns, end_ns);
  std::sort(calls.begin(), calls.end());
  int64_t since_ns = begin_ns;
  for (const auto& [from_ns, to_ns] : calls) {
    if (static_cast<double>(from_ns) - static_cast<double>(since_ns) >= least_ns) return true;
    since_ns = std::max(since_ns, to_ns);
  }
  return false;
}

// Returns the jobs that begin after an idle time.
std::vector<size_t> AfterIdle(const model::Model& model, const std::vector<Job>& jobs,
                              double run_ns) {
  constexpr double kOfUsual = 4;
  struct Gap {
    double ns;
    int64_t begin_ns;
    size_t job;  // the job after it
  };
  std::vector<Gap> gaps;
  std::vector<double> lengths;
  int64_t done_ns = jobs.front().done_ns;
  for (size_t i = 1; i < jobs.size(); ++i) {
    const double ns = static_cast<double>(jobs[i].begin_ns) - static_cast<double>(done_ns);
    gaps.push_back({ns, done_ns, i}), lengths.push_back(std::max(0.0, ns));
    done_ns = std::max(done_ns, jobs[i].done_ns);
  }
  if (gaps.empty()) return {};
  const auto middle = lengths.begin() + static_cast<ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const double usual_ns = gaps.size() > 1 ? *middle : 0;
  const double least_ns = std::max(Phase::kIdleShare * run_ns, kOfUsual * usual_ns);
  std::vector<size_t> after;
  for (const Gap& gap : gaps) {
    if (gap.ns <= 0 || gap.ns < least_ns) continue;
    if (IsQuiet(model, gap.begin_ns, jobs[gap.job].begin_ns, least_ns)) after.push_back(gap.job);
  }
  return after;
}

// The host's pauses within a round are part of the round.
void DropWithinRounds(const Jobs& jobs, double run_ns, std::vector<size_t>* begins) {
  if (begins->empty()) return;
  Finder finder(jobs, run_ns, 0);
  finder.Add(0, jobs.list().size());
  std::erase_if(*begins, [&](size_t job) {
    return std::any_of(finder.trains.begin(), finder.trains.end(), [&](const Train& train) {
      return job > train.first && job < train.last && (job - train.first) % train.period != 0;
    });
  });
}

Phase PhaseOf(const std::vector<Job>& jobs, const Part& part, int64_t begin_ns) {
  Phase phase;
  phase.kind = part.kind, phase.rounds = part.rounds, phase.jobs = part.last - part.first;
  phase.begin_ns = phase.end_ns = begin_ns;
  for (size_t i = part.first; i < part.last; ++i) {
    const Job& job = jobs[i];
    phase.end_ns = std::max(phase.end_ns, job.done_ns);
    phase.matrix_work += job.matrix_work, phase.matrix_commands += job.matrix_commands;
    phase.bytes_in += job.bytes_in, phase.bytes_out += job.bytes_out;
  }
  return phase;
}

}  // namespace

const char* PhaseName(Phase::Kind kind) {
  constexpr const char* kNames[] = {"load", "prefill", "decode", "rounds", "work", "idle"};
  return kNames[static_cast<size_t>(kind)];
}

Phases FindPhases(const model::Model& model, int64_t begin_ns, int64_t end_ns) {
  Phases phases;
  phases.of_job.assign(model.jobs.size(), model::kNoRow);
  const Jobs jobs(model, begin_ns, end_ns);
  const std::vector<Job>& list = jobs.list();
  if (!jobs.ordered()) {
    if (!list.empty())
      phases.why_none = "several processes or devices work side by side: jobs have no common order";
    return phases;
  }
  const double run_ns = static_cast<double>(end_ns) - static_cast<double>(begin_ns);
  std::vector<size_t> begins = AfterIdle(model, list, run_ns);
  DropWithinRounds(jobs, run_ns, &begins);
  const std::set<size_t> after_idle(begins.begin(), begins.end());
  begins.insert(begins.begin(), 0), begins.push_back(list.size());
  std::vector<Part> parts;
  // If there are too many requests, only report that they repeat.
  for (const int depth : {Finder::kDepth, 0}) {
    Finder finder(jobs, run_ns, depth);
    for (size_t i = 0; i + 1 < begins.size(); ++i) finder.Add(begins[i], begins[i + 1]);
    parts = std::move(finder.parts);
    if (parts.size() + after_idle.size() <= Phase::kMost) break;
  }
  if (parts.size() + after_idle.size() > Phase::kMost) {
    phases.why_none = "there would be too many to be of use";
    return phases;
  }
  int64_t done_ns = begin_ns;
  for (const Part& part : parts) {
    const int64_t host_ns = jobs.Boundary(part.first);
    if (after_idle.contains(part.first)) {
      Phase idle;
      idle.kind = Kind::kIdle, idle.begin_ns = done_ns;
      idle.end_ns = done_ns = std::max(done_ns, list[part.first].begin_ns);
      phases.list.push_back(idle);
    }
    for (size_t i = part.first; i < part.last; ++i)
      phases.of_job[list[i].row] = static_cast<uint32_t>(phases.list.size());
    phases.list.push_back(PhaseOf(list, part, std::max(done_ns, host_ns)));
    done_ns = phases.list.back().end_ns;
  }
  return phases;
}

}  // namespace acceltrace::analysis
