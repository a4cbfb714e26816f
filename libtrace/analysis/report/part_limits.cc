// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/part_limits.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/report/limiter.h"
#include "libtrace/analysis/rows/names.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"

namespace acceltrace::analysis {
namespace {

uint64_t Thread(uint32_t pid, uint32_t tid) { return (static_cast<uint64_t>(pid) << 32) | tid; }

// Finds the maximum of consecutive elements without examining each of them: ranges may be nested by
// the thousand, and each needs all of its jobs.
class BlockMaxima {
 public:
  void Set(const std::vector<uint32_t>& nodes, const std::vector<double>& at_ns) {
    values_.resize(nodes.size());
    blocks_.assign(nodes.size() / kBlock + 1, -1e300);
    for (size_t i = 0; i < nodes.size(); ++i) {
      values_[i] = nodes[i] == Graph::kNone ? -1e300 : at_ns[nodes[i]];
      blocks_[i / kBlock] = std::max(blocks_[i / kBlock], values_[i]);
    }
  }
  double Max(size_t begin, size_t end) const {
    double most = -1e300;
    for (size_t i = begin; i < end;) {
      if (i % kBlock == 0 && i + kBlock <= end) {
        most = std::max(most, blocks_[i / kBlock]);
        i += kBlock;
      } else {
        most = std::max(most, values_[i++]);
      }
    }
    return most;
  }

 private:
  static constexpr size_t kBlock = 256;
  std::vector<double> values_, blocks_;
};

// Finds where ranges begin and end in the graph.
class RangeTimes {
 public:
  RangeTimes(const model::Model& model, const Graph& graph) : graph_(graph) {
    FindJobs(model);
    std::unordered_map<uint32_t, std::vector<uint32_t>> points;  // of each thread, in order
    for (uint32_t n = 0; n < graph.size(); ++n) {
      if (graph.kind[n] == Graph::Kind::kHost) points[graph.points[graph.row[n]].tid].push_back(n);
    }
    for (auto& [tid, nodes] : points) {
      std::stable_sort(nodes.begin(), nodes.end(),
                       [&](uint32_t a, uint32_t b) { return graph.at_ns[a] < graph.at_ns[b]; });
    }
    struct Last {
      int64_t end_ns;
      uint32_t place;  // kNone if it has none
    };
    std::map<std::pair<uint64_t, uint32_t>, Last> last;  // by thread and depth
    const model::Ranges& ranges = model.ranges;
    for (uint32_t r = 0; r < ranges.size(); ++r) {
      const auto nodes = points.find(ranges.tid[r]);
      if (ranges.mark[r] || nodes == points.end()) continue;
      Place place;
      place.row = r;
      place.begin = PointAt(nodes->second, ranges.begin_ns[r]);
      place.end = PointAt(nodes->second, ranges.end_ns[r]);
      FindSlice(Thread(ranges.pid[r], ranges.tid[r]), ranges.begin_ns[r], ranges.end_ns[r], &place);
      const auto key = std::pair(Thread(ranges.pid[r], ranges.tid[r]), ranges.depth[r]);
      const bool known = place.begin.node != Graph::kNone && place.end.node != Graph::kNone;
      const Last now = {ranges.end_ns[r],
                        known ? static_cast<uint32_t>(places_.size()) : Graph::kNone};
      const auto [before, first] = last.try_emplace(key, now);
      if (!first && before->second.end_ns <= ranges.begin_ns[r]) {
        place.before = before->second.place;
      }
      before->second = now;
      if (known) places_.push_back(place);
    }
  }

  // Adds the time of each range to that of its part.
  void AddTo(const std::vector<double>& at_ns, const std::vector<uint32_t>& part_of,
             std::vector<double>* sums) {
    jobs_.Set(completions_, at_ns);
    finished_.assign(places_.size(), -1e300);
    for (size_t p = 0; p < places_.size(); ++p) {
      const Place& place = places_[p];
      const uint32_t part = part_of[place.row];
      if (part >= sums->size()) continue;
      finished_[p] = std::max(TimeOf(place.end, at_ns), jobs_.Max(place.first_job, place.last_job));
      double begin_ns = TimeOf(place.begin, at_ns);
      if (place.before != Graph::kNone) begin_ns = std::max(begin_ns, finished_[place.before]);
      (*sums)[part] += std::max(0.0, finished_[p] - begin_ns);
    }
  }

 private:
  // A host point, and a time that was recorded this long after it.
  struct Point {
    uint32_t node = Graph::kNone;
    double after_ns = 0;
  };
  struct Place {
    Point begin, end;
    size_t first_job = 0, last_job = 0;
    uint32_t row = 0;                // row in Model::ranges
    uint32_t before = Graph::kNone;  // index of the previous range of the same thread and depth
  };

  Point PointAt(const std::vector<uint32_t>& nodes, int64_t time_ns) const {
    int64_t since_ns;
    if (__builtin_sub_overflow(time_ns, graph_.begin_ns, &since_ns)) return {};
    const auto at = static_cast<double>(since_ns);
    auto after = std::upper_bound(nodes.begin(), nodes.end(), at,
                                  [&](double t, uint32_t n) { return t < graph_.at_ns[n]; });
    if (after != nodes.begin()) --after;
    return {*after, at - graph_.at_ns[*after]};
  }
  static double TimeOf(const Point& point, const std::vector<double>& at_ns) {
    return at_ns[point.node] + point.after_ns;
  }

  // Collects completions by thread, in the order of the submitting calls.
  void FindJobs(const model::Model& model) {
    std::vector<uint32_t> completion(model.jobs.size(), Graph::kNone);
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_.kind[n] == Graph::Kind::kCompletion) completion[graph_.row[n]] = n;
    }
    struct Job {
      uint64_t thread;
      int64_t call_ns;
      uint32_t node;
    };
    std::vector<Job> jobs;
    for (size_t j = 0; j < completion.size(); ++j) {
      const uint32_t call = model.jobs.api_row[j];
      if (call == model::kNoRow || completion[j] == Graph::kNone) continue;
      jobs.push_back({Thread(model.api.pid[call], model.api.tid[call]), model.api.begin_ns[call],
                      completion[j]});
    }
    std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
      return std::tie(a.thread, a.call_ns, a.node) < std::tie(b.thread, b.call_ns, b.node);
    });
    for (const Job& job : jobs) {
      if (threads_.empty() || threads_.back().first != job.thread) {
        threads_.emplace_back(job.thread, completions_.size());
      }
      completions_.push_back(job.node);
      calls_ns_.push_back(job.call_ns);
    }
  }

  void FindSlice(uint64_t thread, int64_t begin_ns, int64_t end_ns, Place* place) const {
    const auto of =
        std::lower_bound(threads_.begin(), threads_.end(), std::pair(thread, size_t{0}));
    if (of == threads_.end() || of->first != thread) return;
    const auto begin = calls_ns_.begin() + static_cast<ptrdiff_t>(of->second);
    const auto end = std::next(of) == threads_.end()
                         ? calls_ns_.end()
                         : calls_ns_.begin() + static_cast<ptrdiff_t>(std::next(of)->second);
    const auto first = std::lower_bound(begin, end, begin_ns);
    place->first_job = static_cast<size_t>(first - calls_ns_.begin());
    place->last_job = static_cast<size_t>(std::upper_bound(first, end, end_ns) - calls_ns_.begin());
  }

  const Graph& graph_;
  std::vector<std::pair<uint64_t, size_t>> threads_;  // where each thread begins in completions_
  std::vector<uint32_t> completions_;
  std::vector<int64_t> calls_ns_;
  std::vector<Place> places_;  // of the ranges that have one, in order
  BlockMaxima jobs_;
  std::vector<double> finished_;
};

// Finds where phases end in the graph. What the host does between two phases belongs to the later
// one.
class PhaseTimes {
 public:
  PhaseTimes(const model::Model& model, const Phases& phases, const Graph& graph)
      : ends_(phases.list.size()), after_idle_(phases.list.size(), Graph::kNone) {
    std::map<uint32_t, uint32_t> calls;  // calls that submit the first job after an idle time
    for (uint32_t p = 1; p < phases.list.size(); ++p) {
      if (phases.list[p - 1].kind != Phase::Kind::kIdle) continue;
      uint32_t first = model::kNoRow;
      for (uint32_t j = 0; j < phases.of_job.size(); ++j) {
        const uint32_t call = phases.of_job[j] == p ? model.jobs.api_row[j] : model::kNoRow;
        if (call == model::kNoRow) continue;
        if (first == model::kNoRow || model.api.begin_ns[call] < model.api.begin_ns[first])
          first = call;
      }
      if (first != model::kNoRow) calls.emplace(first, p);
    }
    for (uint32_t n = 0; n < graph.size(); ++n) {
      if (graph.kind[n] == Graph::Kind::kCompletion) {
        const uint32_t phase = phases.of_job[graph.row[n]];
        if (phase < ends_.size()) ends_[phase].push_back(n);
      } else if (graph.kind[n] == Graph::Kind::kHost) {
        const auto call = calls.find(graph.points[graph.row[n]].api_row);
        if (call == calls.end()) continue;
        uint32_t& begin = after_idle_[call->second];
        if (begin == Graph::kNone || graph.at_ns[n] < graph.at_ns[begin]) begin = n;
      }
    }
  }
  std::vector<double> Sums(const std::vector<double>& at_ns) const {
    std::vector<double> sums(ends_.size());
    double before_ns = 0;
    for (size_t p = 0; p < sums.size(); ++p) {
      double finished_ns = before_ns;
      for (const uint32_t n : ends_[p]) finished_ns = std::max(finished_ns, at_ns[n]);
      if (p + 1 < sums.size() && after_idle_[p + 1] != Graph::kNone)
        finished_ns = std::max(finished_ns, at_ns[after_idle_[p + 1]]);
      sums[p] = finished_ns - before_ns, before_ns = finished_ns;
    }
    return sums;
  }

 private:
  std::vector<std::vector<uint32_t>> ends_;  // completions by phase
  std::vector<uint32_t> after_idle_;         // where the idle time before a phase ends
};

// Determines for each command to which op of a list it belongs.
class OpTimes {
 public:
  OpTimes(const model::Model& model, const Graph& graph) : model_(model), graph_(graph) {
    const model::Commands& commands = model.commands;
    std::map<std::array<uint32_t, 4>, uint32_t> known;
    number_of_.resize(commands.size());
    for (uint32_t c = 0; c < commands.size(); ++c) {
      const auto [number, fresh] = known.try_emplace(
          {commands.device[c], commands.unit[c], commands.op[c], commands.opcode[c]},
          static_cast<uint32_t>(first_.size()));
      if (fresh) first_.push_back(c);
      number_of_[c] = number->second;
    }
  }

  // Returns the sum of start to end, by number of the op.
  std::vector<double> Sums(const std::vector<double>& at_ns) const {
    std::vector<double> sums(first_.size());
    for (size_t c = 0; c < number_of_.size(); ++c) {
      const uint32_t start = graph_.start_of[c];
      if (start != Graph::kNone) sums[number_of_[c]] += at_ns[start + 1] - at_ns[start];
    }
    return sums;
  }

  // Returns the index in the list, by number of the op.
  std::vector<uint32_t> PartOf(const std::vector<OpUse>& ops, bool fold) const {
    std::vector<std::string_view> names;
    for (const uint32_t c : first_) names.push_back(model_.OpName(c));
    const NameGroups groups(fold, names);
    std::map<std::tuple<uint32_t, std::string, std::string>, uint32_t> places;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      places.try_emplace({ops[i].device, ops[i].unit, ops[i].name}, i);
    }
    std::vector<uint32_t> parts(first_.size(), UINT32_MAX);
    for (size_t n = 0; n < first_.size(); ++n) {
      const uint32_t c = first_[n], device = model_.commands.device[c];
      const auto place =
          places.find({device, model_.devices[device].UnitName(model_.commands.unit[c]),
                       groups.Of(model_.OpName(c))});
      if (place != places.end()) parts[n] = place->second;
    }
    return parts;
  }

 private:
  const model::Model& model_;
  const Graph& graph_;
  std::vector<uint32_t> number_of_, first_;  // number of each command's op; a command of each op
};

std::vector<double> SumByPart(const std::vector<double>& ns, const std::vector<uint32_t>& part_of,
                              size_t parts) {
  std::vector<double> sums(parts);
  for (size_t i = 0; i < ns.size(); ++i) {
    if (part_of[i] < parts) sums[part_of[i]] += ns[i];
  }
  return sums;
}

void Take(const std::vector<double>& base_ns, const std::vector<double>& ns, Resource resource,
          std::vector<PartLimit>* parts) {
  for (size_t p = 0; p < parts->size(); ++p) {
    PartLimit& part = (*parts)[p];
    part.ns = base_ns[p];
    const double share = base_ns[p] > 0 ? 1 - ns[p] / base_ns[p] : 0;
    if (share < Limiter::kLeast) continue;
    if (share > part.first.share)
      part.second = std::exchange(part.first, {resource, share});
    else if (share > part.second.share)
      part.second = {resource, share};
  }
}

}  // namespace

bool PartLimit::several() const {
  return second.share > 0 && first.share - second.share < Limiter::kClose * first.share;
}

PartLimits ComputePartLimits(const model::Model& model, const PartLists& lists, Replays* replays) {
  PartLimits limits;
  limits.ranges.resize(lists.ranges.size()), limits.range_groups.resize(lists.range_groups.size());
  limits.phases.resize(lists.phases.list.size());
  limits.ops.resize(lists.ops.by_name.size()), limits.op_groups.resize(lists.ops.by_group.size());
  RangeTimes ranges(model, replays->graph());
  const OpTimes ops(model, replays->graph());
  const PhaseTimes phases(model, lists.phases, replays->graph());
  const std::vector<uint32_t> op_of = ops.PartOf(lists.ops.by_name, false);
  const std::vector<uint32_t> op_group_of = ops.PartOf(lists.ops.by_group, true);
  using Sums = std::array<std::vector<double>, 5>;
  const auto sums_of = [&](const std::vector<double>& at_ns) {
    Sums sums;
    sums[0].resize(limits.ranges.size()), sums[1].resize(limits.range_groups.size());
    ranges.AddTo(at_ns, lists.range_of, &sums[0]);
    ranges.AddTo(at_ns, lists.range_group_of, &sums[1]);
    const std::vector<double> of_ops = ops.Sums(at_ns);
    sums[2] = SumByPart(of_ops, op_of, limits.ops.size());
    sums[3] = SumByPart(of_ops, op_group_of, limits.op_groups.size());
    sums[4] = phases.Sums(at_ns);
    return sums;
  };
  std::vector<double> at_ns;
  Scales scales;
  scales.without_tracer = true;
  if (replays->Times(scales, &at_ns) <= 0) return {};
  const Sums base = sums_of(at_ns);
  for (int r = 0; r < kNumResources; ++r) {
    const auto resource = static_cast<Resource>(r);
    if (!replays->Uses(resource)) continue;
    scales = Scales::Faster(resource, Limiter::kStep);
    scales.without_tracer = true;
    if (replays->Times(scales, &at_ns) <= 0) return {};
    const Sums sums = sums_of(at_ns);
    Take(base[0], sums[0], resource, &limits.ranges);
    Take(base[1], sums[1], resource, &limits.range_groups);
    Take(base[2], sums[2], resource, &limits.ops);
    Take(base[3], sums[3], resource, &limits.op_groups);
    Take(base[4], sums[4], resource, &limits.phases);
  }
  return limits;
}

}  // namespace acceltrace::analysis
