// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/diff_parts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace acceltrace::analysis {
namespace {

using NameAndUnit = std::pair<std::string, std::string>;
using Place = Change::Place;

double LengthOf(const Place& place) { return static_cast<double>(place.end_ns - place.begin_ns); }

void TakeLonger(const Place& place, Place* longest) {
  if (longest->kind == Place::Kind::kNone || LengthOf(place) > LengthOf(*longest)) *longest = place;
}

Place PlaceOfCommand(const model::Model& model, size_t row) {
  return {Place::Kind::kCommand, static_cast<uint32_t>(row), model.commands.start.host[row].mid_ns,
          model.commands.end.host[row].mid_ns};
}

// Computes the stages of each job of a trace in turn.
class StagesOf {
 public:
  explicit StagesOf(const model::Model& model)
      : times_(model.devices.begin(), model.devices.end()),
        lines_(std::make_unique<JobTimelines>(model)) {}
  const JobStages& At(size_t job) {
    StagesOfJob(lines_.get(), times_, job, &stages_);
    return stages_;
  }

 private:
  std::vector<Durations> times_;
  std::unique_ptr<JobTimelines> lines_;
  JobStages stages_;
};

Place PlaceOfJob(const model::Model& model, size_t row) {
  const model::Jobs& jobs = model.jobs;
  const int64_t begin_ns =
      jobs.submit_ns[row] != model::kNoTime ? jobs.submit_ns[row] : jobs.doorbell.host[row].mid_ns;
  const int64_t end_ns = jobs.complete_ns[row] != model::kNoTime ? jobs.complete_ns[row]
                                                                 : jobs.completion.host[row].mid_ns;
  const bool on_device = jobs.on_device[row] != 0;
  return {on_device ? Place::Kind::kJob : Place::Kind::kSubmission, static_cast<uint32_t>(row),
          begin_ns, std::max(begin_ns, end_ns)};
}

// A stage summed over all jobs of a side.
struct StageSum {
  Amount time;
  Spread spread;
  Place longest;
  int64_t longest_ns = -1;
};

std::vector<StageSum> SumStages(const model::Model& model, size_t stages) {
  std::vector<StageSum> sums(stages);
  StagesOf each(model);
  for (size_t job = 0; job < model.jobs.size(); ++job) {
    const JobStages& found = each.At(job);
    for (size_t s = 0; s < stages; ++s) {
      if (!found.stages[s]) continue;
      const Span& span = *found.stages[s];
      sums[s].time += ToAmount(span);
      sums[s].spread.Add(static_cast<double>(span.mid_ns));
      if (span.mid_ns <= sums[s].longest_ns) continue;
      sums[s].longest_ns = span.mid_ns, sums[s].longest = PlaceOfJob(model, job);
    }
  }
  return sums;
}

// The longest command by op and unit, and by unit alone.
struct LongestCommands {
  std::map<NameAndUnit, Place> ops;
  std::map<std::string, Place> units;
};

LongestCommands FindCommands(const model::Model& model) {
  LongestCommands longest;
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const Place place = PlaceOfCommand(model, i);
    const std::string& unit =
        model.devices[model.commands.device[i]].UnitName(model.commands.unit[i]);
    TakeLonger(place, &longest.ops[{model.OpName(i), unit}]);
    TakeLonger(place, &longest.units[unit]);
  }
  return longest;
}

// Finds for each op the pair of commands that differs most, as an example of the change on both
// sides.
std::map<NameAndUnit, std::pair<Place, Place>> FindPairs(const model::Model& a,
                                                         const model::Model& b,
                                                         const JobPairs& pairs) {
  std::map<NameAndUnit, std::pair<Place, Place>> found;
  std::map<NameAndUnit, double> most;
  for (const auto& [job_a, job_b] : pairs) {
    const size_t count = std::min(a.jobs.num_commands[job_a], b.jobs.num_commands[job_b]);
    for (size_t c = 0; c < count; ++c) {
      const size_t row_a = a.jobs.first_command[job_a] + c, row_b = b.jobs.first_command[job_b] + c;
      const NameAndUnit op{a.OpName(row_a),
                           a.devices[a.commands.device[row_a]].UnitName(a.commands.unit[row_a])};
      if (op.first != b.OpName(row_b)) continue;
      const Place place_a = PlaceOfCommand(a, row_a), place_b = PlaceOfCommand(b, row_b);
      const double differs = std::fabs(LengthOf(place_b) - LengthOf(place_a));
      const auto [known, fresh] = most.try_emplace(op, differs);
      if (!fresh && differs <= known->second) continue;
      known->second = differs, found[op] = {place_a, place_b};
    }
  }
  return found;
}

std::map<std::string, Place> FindCalls(const model::Model& model) {
  std::map<std::string, Place> longest;
  const model::ApiCalls& api = model.api;
  for (size_t i = 0; i < api.size(); ++i) {
    if (api.open[i] || api.began_before[i]) continue;
    TakeLonger({Place::Kind::kCall, static_cast<uint32_t>(i), api.begin_ns[i], api.end_ns[i]},
               &longest[model.strings.Get(api.name[i])]);
  }
  return longest;
}

std::map<std::string, Place> FindPieces(const Report& report) {
  std::map<std::string, Place> longest;
  int64_t begin_ns = report.breakdown.begin_ns;
  const std::vector<Piece>& pieces = report.breakdown.pieces;
  for (size_t p = 0; p < pieces.size(); ++p) {
    TakeLonger({Place::Kind::kPiece, static_cast<uint32_t>(p), begin_ns, pieces[p].end_ns},
               &longest[ClassName(pieces[p].of)]);
    begin_ns = pieces[p].end_ns;
  }
  return longest;
}

// Finds transfers by unit and size class, which is the largest number of bytes or "larger".
std::map<NameAndUnit, Place> FindTransfers(const Report& report) {
  std::map<NameAndUnit, Place> longest;
  const model::Model& model = *report.model;
  for (size_t i = 0; i < model.commands.size(); ++i) {
    const model::Device& device = model.devices[model.commands.device[i]];
    if (!device.IsDma(model.commands.unit[i])) continue;
    const std::string& unit = device.UnitName(model.commands.unit[i]);
    for (const DeviceTransfers& of : report.transfers) {
      if (of.device != model.commands.device[i]) continue;
      for (const Direction& direction : of.directions) {
        if (direction.name != unit) continue;
        const auto size = std::find_if(
            direction.sizes.begin(), direction.sizes.end(),
            [&](const SizeClass& each) { return model.commands.bytes[i] <= each.up_to_bytes; });
        if (size == direction.sizes.end()) continue;
        TakeLonger(PlaceOfCommand(model, i), &longest[{SizeName(size->up_to_bytes), unit}]);
      }
    }
  }
  return longest;
}

template <typename Key>
Place Found(const std::map<Key, Place>& places, const Key& key) {
  const auto found = places.find(key);
  return found == places.end() ? Place() : found->second;
}

}  // namespace

std::string SizeName(uint64_t up_to_bytes) {
  return up_to_bytes == UINT64_MAX ? "larger" : std::to_string(up_to_bytes);
}

std::vector<Change> CompareStages(const Report& a, const Report& b, const JobPairs& pairs) {
  const std::vector<std::string> names = StageNames();
  const auto sums_a = SumStages(*a.model, names.size());
  const auto sums_b = SumStages(*b.model, names.size());
  std::vector<Spread> spreads(names.size());
  StagesOf each_a(*a.model), each_b(*b.model);
  for (const auto& [job_a, job_b] : pairs) {
    const JobStages &found_a = each_a.At(job_a), &found_b = each_b.At(job_b);
    for (size_t s = 0; s < names.size(); ++s) {
      if (!found_a.stages[s] || !found_b.stages[s]) continue;
      spreads[s].Add(static_cast<double>(found_b.stages[s]->mid_ns - found_a.stages[s]->mid_ns));
    }
  }
  std::vector<Change> changes;
  for (size_t s = 0; s < names.size(); ++s) {
    Change change;
    change.name = names[s];
    change.count_a = sums_a[s].spread.n(), change.count_b = sums_b[s].spread.n();
    if (change.count_a + change.count_b == 0) continue;
    change.a = sums_a[s].time, change.b = sums_b[s].time;
    change.pairs = spreads[s].n();
    if (change.pairs > 1 && change.pairs == change.count_a && change.pairs == change.count_b) {
      change.noise_ns = spreads[s].ErrorOfSum();
    } else {
      change.noise_ns = std::hypot(sums_a[s].spread.ErrorOfSum(), sums_b[s].spread.ErrorOfSum());
    }
    JudgeChange(&change);
    change.at_a = sums_a[s].longest, change.at_b = sums_b[s].longest;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> CompareUnits(const Report& a, const Report& b) {
  std::map<std::string, Change> by_name;
  for (const Report* report : {&a, &b}) {
    for (const DeviceUse& device : report->utilisation) {
      for (const UnitUse& unit : device.units) {
        Change& change = by_name[unit.name];
        (report == &a ? change.count_a : change.count_b) += unit.commands;
        (report == &a ? change.a : change.b) += unit.busy;
      }
    }
  }
  std::vector<Change> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    JudgeChange(&change);
    changes.push_back(std::move(change));
  }
  return changes;
}

void FindPlaces(const Report& a, const Report& b, const JobPairs& pairs, Diff* diff) {
  const LongestCommands commands_a = FindCommands(*a.model), commands_b = FindCommands(*b.model);
  const auto pairs_of_ops = FindPairs(*a.model, *b.model, pairs);
  for (Change& op : diff->ops) {
    const NameAndUnit key{op.name, op.unit};
    op.at_a = Found(commands_a.ops, key), op.at_b = Found(commands_b.ops, key);
    const auto pair = pairs_of_ops.find(key);
    if (pair != pairs_of_ops.end()) std::tie(op.at_a, op.at_b) = pair->second;
  }
  for (Change& unit : diff->units) {
    unit.at_a = Found(commands_a.units, unit.name), unit.at_b = Found(commands_b.units, unit.name);
  }
  const auto calls_a = FindCalls(*a.model), calls_b = FindCalls(*b.model);
  for (Change& call : diff->calls) {
    call.at_a = Found(calls_a, call.name), call.at_b = Found(calls_b, call.name);
  }
  const auto pieces_a = FindPieces(a), pieces_b = FindPieces(b);
  for (Change& of : diff->classes) {
    of.at_a = Found(pieces_a, of.name), of.at_b = Found(pieces_b, of.name);
  }
  const auto transfers_a = FindTransfers(a), transfers_b = FindTransfers(b);
  for (Change& size : diff->transfers) {
    const NameAndUnit key{size.name, size.unit};
    size.at_a = Found(transfers_a, key), size.at_b = Found(transfers_b, key);
  }
}

}  // namespace acceltrace::analysis
