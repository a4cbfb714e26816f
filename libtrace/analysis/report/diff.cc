// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/report/diff_parts.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/names.h"

namespace acceltrace::analysis {
namespace {

using Certainty = Change::Certainty;
using Key = std::pair<std::string, std::string>;  // name, unit

struct Sums {
  uint64_t bytes = 0;
  Amount time;
  Spread spread;
  double busy_ns = 0;
  std::map<std::string, double> stalls_ns;
};

struct Side {
  std::map<Key, Sums> ops, calls;
  std::vector<Key> op_of;       // by command
  std::vector<double> ran_ns;   // by command
  std::vector<uint64_t> kinds;  // of jobs, in order of submission
  std::vector<size_t> rows;     // rows in Model::jobs, in the same order
};

size_t Mixed(size_t seed, const std::string& text) {
  return (seed ^ std::hash<std::string>()(text)) * 0x9e3779b97f4a7c15ull + 0x7f4a7c15;
}

void CollectCommands(const model::Model& model, Side* side) {
  const model::Commands& commands = model.commands;
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  side->op_of.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    const model::Device& device = model.devices[commands.device[i]];
    Key key{model.OpName(i), device.UnitName(commands.unit[i])};
    if (side->ops.size() >= kMaxNamedRows && !side->ops.contains(key)) key.first = kOtherNames;
    Sums& sums = side->ops[key];
    const Durations& time = times[commands.device[i]];
    const Mark start = MarkOf(commands.start, i), end = MarkOf(commands.end, i);
    const Amount ran = time.Elapsed(start, end);
    sums.bytes += commands.bytes[i];
    sums.time += ran;
    sums.spread.Add(ran.mid);
    const double tick_ns = time.nominal_tick_ns();
    sums.busy_ns += static_cast<double>(model.BusyTicks(i).value_or(0)) * tick_ns;
    for (int s = 0; s < device.about.stalls_size(); ++s) {
      const uint64_t ticks = model.Stalls(i)[s];
      if (ticks > 0) sums.stalls_ns[device.about.stalls(s)] += static_cast<double>(ticks) * tick_ns;
    }
    side->op_of.push_back(std::move(key));
    side->ran_ns.push_back(ran.mid);
  }
}

void CollectCalls(const model::Model& model, Side* side) {
  const model::ApiCalls& api = model.api;
  for (size_t i = 0; i < api.size(); ++i) {
    if (api.open[i] || api.began_before[i]) continue;
    Key key{model.strings.Get(api.name[i]), ""};
    if (side->calls.size() >= kMaxNamedRows && !side->calls.contains(key)) key.first = kOtherNames;
    Sums& sums = side->calls[key];
    const auto ns = static_cast<double>(api.end_ns[i] - api.begin_ns[i]);
    sums.bytes += api.bytes[i];
    sums.time += Amount{ns, ns, ns};
    sums.spread.Add(ns);
  }
}

// Characterises each job by the call that submitted it and by what it does.
void CollectJobs(const model::Model& model, Side* side) {
  const model::Jobs& jobs = model.jobs;
  side->rows.resize(jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j) side->rows[j] = j;
  const auto when = [&](size_t j) {
    if (jobs.submit_ns[j] != model::kNoTime) return jobs.submit_ns[j];
    return jobs.on_device[j] ? jobs.doorbell.host[j].mid_ns : std::numeric_limits<int64_t>::max();
  };
  std::stable_sort(side->rows.begin(), side->rows.end(),
                   [&](size_t a, size_t b) { return when(a) < when(b); });
  for (const size_t j : side->rows) {
    size_t kind = jobs.num_commands[j];
    const uint32_t call = jobs.api_row[j];
    if (call != model::kNoRow) kind = Mixed(kind, model.strings.Get(model.api.name[call]));
    for (uint32_t c = 0; c < jobs.num_commands[j]; ++c) {
      const Key& op = side->op_of[jobs.first_command[j] + c];
      kind = Mixed(Mixed(kind, op.first), op.second);
    }
    side->kinds.push_back(kind);
  }
}

Side Collect(const model::Model& model) {
  Side side;
  CollectCommands(model, &side);
  CollectCalls(model, &side);
  CollectJobs(model, &side);
  return side;
}

void Explain(const Sums& a, const Sums& b, Change* change) {
  const auto n_a = static_cast<double>(change->count_a), n_b = static_cast<double>(change->count_b);
  const double more = n_b - n_a;
  if (n_a == 0 || n_b == 0) {
    change->parts.push_back({"count", change->delta.mid});
    change->cause = n_a == 0 ? "new" : "gone";
    return;
  }
  const double by_count = more * change->a.mid / n_a;
  change->each_ns = change->delta.mid - by_count;
  if (more != 0) change->parts.push_back({"count", by_count});
  const auto part = [&](const std::string& what, double sum_a, double sum_b) {
    const double ns = sum_b - sum_a * n_b / n_a;
    if (std::fabs(ns) >= 1) change->parts.push_back({what, ns});
  };
  std::set<std::string> causes;
  for (const auto* side : {&a, &b}) {
    for (const auto& [cause, ns] : side->stalls_ns) causes.insert(cause);
  }
  if (a.busy_ns + b.busy_ns > 0) part("busy", a.busy_ns, b.busy_ns);
  const auto stall = [](const Sums& sums, const std::string& cause) {
    const auto found = sums.stalls_ns.find(cause);
    return found == sums.stalls_ns.end() ? 0 : found->second;
  };
  for (const std::string& cause : causes) part(cause, stall(a, cause), stall(b, cause));
  std::stable_sort(change->parts.begin(), change->parts.end(),
                   [](const auto& x, const auto& y) { return std::fabs(x.ns) > std::fabs(y.ns); });
  if (std::fabs(by_count) >= std::fabs(change->each_ns)) {
    change->cause = more > 0 ? "more of them" : more < 0 ? "fewer of them" : "";
    return;
  }
  change->cause = change->each_ns > 0 ? "longer each" : "shorter each";
  const double bytes_each_a = static_cast<double>(a.bytes) / n_a;
  const double bytes_each_b = static_cast<double>(b.bytes) / n_b;
  if (std::fabs(bytes_each_b - bytes_each_a) > 0.01 * std::max(bytes_each_a, bytes_each_b)) {
    change->cause += bytes_each_b > bytes_each_a ? ": more bytes" : ": fewer bytes";
  }
  // Name the stall, or the work, that changed along with the time.
  for (const Change::Part& one : change->parts) {
    if (one.what == "count" || one.ns * change->each_ns <= 0) continue;
    if (std::fabs(one.ns) < 0.3 * std::fabs(change->each_ns)) break;
    const char* grown = one.ns > 0 ? "more " : "less ";
    change->cause += std::string(change->cause.find(':') == std::string::npos ? ": " : ", ") +
                     grown + (one.what == "busy" ? "work" : one.what + " stall");
    break;
  }
}

using PairSpreads = std::map<Key, Spread>;

std::vector<Change> Compare(const std::map<Key, Sums>& a, const std::map<Key, Sums>& b,
                            const PairSpreads& pairs) {
  std::set<Key> keys;
  for (const auto* side : {&a, &b}) {
    for (const auto& [key, sums] : *side) keys.insert(key);
  }
  static const Sums kNothing;
  const auto of = [](const std::map<Key, Sums>& side, const Key& key) -> const Sums& {
    const auto found = side.find(key);
    return found == side.end() ? kNothing : found->second;
  };
  std::vector<Change> changes;
  for (const Key& key : keys) {
    const Sums &sums_a = of(a, key), &sums_b = of(b, key);
    Change change;
    change.name = key.first, change.unit = key.second;
    change.count_a = sums_a.spread.n(), change.count_b = sums_b.spread.n();
    change.bytes_a = sums_a.bytes, change.bytes_b = sums_b.bytes;
    change.a = sums_a.time, change.b = sums_b.time;
    const auto paired = pairs.find(key);
    if (paired != pairs.end()) change.pairs = paired->second.n();
    if (change.pairs > 1 && change.pairs == change.count_a && change.pairs == change.count_b) {
      change.noise_ns = paired->second.ErrorOfSum();
    } else {
      change.noise_ns = std::hypot(sums_a.spread.ErrorOfSum(), sums_b.spread.ErrorOfSum());
    }
    JudgeChange(&change);
    Explain(sums_a, sums_b, &change);
    changes.push_back(std::move(change));
  }
  return changes;
}

void Sort(std::vector<Change>* changes) {
  std::stable_sort(changes->begin(), changes->end(), [](const Change& x, const Change& y) {
    return std::fabs(x.delta.mid) > std::fabs(y.delta.mid);
  });
}

Change CompareSpans(const std::string& name, const Span& a, const Span& b) {
  Change change;
  change.name = name;
  change.a = ToAmount(a), change.b = ToAmount(b);
  JudgeChange(&change);
  return change;
}

// Compares transfers by direction and size, using the report's sums.
std::vector<Change> CompareTransfers(const Report& a, const Report& b) {
  std::map<std::pair<std::string, uint64_t>, Change> by_key;
  for (const Report* report : {&a, &b}) {
    for (const DeviceTransfers& device : report->transfers) {
      for (const Direction& direction : device.directions) {
        for (const SizeClass& size : direction.sizes) {
          Change& change = by_key[{direction.name, size.up_to_bytes}];
          change.unit = direction.name;
          change.name = SizeName(size.up_to_bytes);
          (report == &a ? change.count_a : change.count_b) += size.count;
          (report == &a ? change.bytes_a : change.bytes_b) += size.bytes;
          (report == &a ? change.a : change.b) += size.time;
        }
      }
    }
  }
  std::vector<Change> changes;
  for (auto& [key, change] : by_key) {
    JudgeChange(&change);
    Sums sums_a, sums_b;
    sums_a.bytes = change.bytes_a, sums_b.bytes = change.bytes_b;
    Explain(sums_a, sums_b, &change);
    changes.push_back(std::move(change));
  }
  return changes;
}

void AlignJobs(const Report& a, const Report& b, const Side& side_a, const Side& side_b, Diff* diff,
               PairSpreads* pairs, JobPairs* jobs) {
  const model::Jobs &jobs_a = a.model->jobs, &jobs_b = b.model->jobs;
  diff->jobs_a = jobs_a.size(), diff->jobs_b = jobs_b.size();
  const auto aligned = Align(side_a.kinds, side_b.kinds);
  diff->aligned = aligned.size();
  uint32_t next = 0;
  for (const auto& [x, y] : aligned) {
    if (x != next || y != next) break;
    ++next;
  }
  if (next < side_a.kinds.size() || next < side_b.kinds.size()) {
    diff->first_difference = fmt::format("the sequences of jobs part at job {}", next + 1);
  }
  for (const auto& [x, y] : aligned) {
    const size_t row_a = side_a.rows[x], row_b = side_b.rows[y];
    jobs->emplace_back(row_a, row_b);
    for (uint32_t c = 0; c < jobs_a.num_commands[row_a] && c < jobs_b.num_commands[row_b]; ++c) {
      const size_t in_a = jobs_a.first_command[row_a] + c, in_b = jobs_b.first_command[row_b] + c;
      if (side_a.op_of[in_a] != side_b.op_of[in_b]) continue;
      (*pairs)[side_a.op_of[in_a]].Add(side_b.ran_ns[in_b] - side_a.ran_ns[in_a]);
    }
  }
}

std::string LinkText(const model::Device& device) {
  const proto::Pci& pci = device.about.pci();
  return fmt::format("{}, {}, gen {} x{}", device.about.name(), device.about.model(),
                     pci.link_speed(), pci.link_width());
}

// Notes differences of the recordings that existed before anything ran.
void NoteRecordings(const model::Model& a, const model::Model& b, Diff* diff) {
  const auto differs = [&](const char* what, const std::string& left, const std::string& right) {
    if (left != right) diff->notes.push_back(fmt::format("{}: {} against {}", what, left, right));
  };
  const auto command = [](const model::Model& model) {
    std::string words;
    for (const std::string& word : model.info.command()) words += (words.empty() ? "" : " ") + word;
    return words.empty() ? std::string("none") : words;
  };
  differs("command", command(a), command(b));
  differs("host", a.info.host() + ", " + a.info.kernel(), b.info.host() + ", " + b.info.kernel());
  differs("CPUs", std::to_string(a.info.num_cpus()), std::to_string(b.info.num_cpus()));
  differs("devices", std::to_string(a.devices.size()), std::to_string(b.devices.size()));
  for (size_t d = 0; d < a.devices.size() && d < b.devices.size(); ++d) {
    differs("device", LinkText(a.devices[d]), LinkText(b.devices[d]));
  }
  differs("selection", a.cut.any() ? a.cut.text : "all", b.cut.any() ? b.cut.text : "all");
}

// Decides whether the two runs are similar enough to be compared.
void DecideComparable(const Report& a, const Report& b, Diff* diff) {
  const auto refuse = [&](std::string why) {
    diff->comparable = false;
    if (diff->why_not.empty()) diff->why_not = std::move(why);
  };
  for (const Report* report : {&a, &b}) {
    const char* which = report == &a ? "the first" : "the second";
    if (report->breakdown.RunNs() <= 0)
      refuse(fmt::format("{} trace holds no run of a device", which));
    for (const ClockQuality& clock : report->clocks) {
      if (!clock.valid && report->model->commands.size() > 0) {
        refuse(fmt::format("{} trace's device times are worth nothing: {}", which, clock.error));
      }
    }
  }
  double common = 0, all = 0;
  for (const Change& op : diff->ops) {
    all += op.a.mid + op.b.mid;
    if (op.count_a > 0 && op.count_b > 0) common += op.a.mid + op.b.mid;
  }
  constexpr double kLeastCommon = 0.1;
  if (all > 0 && common < kLeastCommon * all) {
    refuse(
        fmt::format("{:.0f} % of their device time is in ops that both have: they are different "
                    "programs, or name their ops otherwise",
                    100 * common / all));
  }
}

}  // namespace

// Without a known noise, only the bounds count.
void JudgeChange(Change* change) {
  change->delta = {change->b.lo - change->a.hi, change->b.mid - change->a.mid,
                   change->b.hi - change->a.lo};
  const double size = std::fabs(change->delta.mid);
  constexpr double kNothingNs = 0.5;
  if (size < kNothingNs && change->count_a == change->count_b) {
    change->certainty = Certainty::kNone;
  } else if (change->delta.lo <= 0 && change->delta.hi >= 0) {
    change->certainty = Certainty::kBounds;
  } else if (change->noise_ns > 0 && size <= Diff::kSigmas * change->noise_ns) {
    change->certainty = Certainty::kSpread;
  } else {
    const bool alone = change->noise_ns == 0 && change->count_a < 2 && change->count_b < 2;
    change->certainty =
        alone && change->count_a + change->count_b > 0 ? Certainty::kOnce : Certainty::kSure;
  }
}

const char* CertaintyName(Change::Certainty certainty) {
  constexpr const char* kNames[] = {"same", "within_bounds", "within_spread", "once",
                                    "significant"};
  return kNames[static_cast<int>(certainty)];
}

const char* PlaceName(Change::Place::Kind kind) {
  constexpr const char* kNames[] = {"", "command", "api", "job", "submit", "piece"};
  return kNames[static_cast<int>(kind)];
}

Diff ComputeDiff(const Report& a, const Report& b) {
  Diff diff;
  diff.begin_a_ns = a.model->begin_ns, diff.begin_b_ns = b.model->begin_ns;
  const Side side_a = Collect(*a.model), side_b = Collect(*b.model);
  PairSpreads pairs;
  JobPairs jobs;
  AlignJobs(a, b, side_a, side_b, &diff, &pairs, &jobs);
  diff.run = CompareSpans("run", a.breakdown.run, b.breakdown.run);
  for (int c = 0; c < kNumClasses; ++c) {
    diff.classes.push_back(
        CompareSpans(ClassName(static_cast<Class>(c)), a.breakdown.time[c], b.breakdown.time[c]));
  }
  diff.ops = Compare(side_a.ops, side_b.ops, pairs);
  diff.calls = Compare(side_a.calls, side_b.calls, {});
  diff.transfers = CompareTransfers(a, b);
  diff.stages = CompareStages(a, b, jobs);
  diff.units = CompareUnits(a, b);
  FindPlaces(a, b, jobs, &diff);
  for (auto* changes :
       {&diff.classes, &diff.ops, &diff.stages, &diff.units, &diff.calls, &diff.transfers}) {
    Sort(changes);
  }
  NoteRecordings(*a.model, *b.model, &diff);
  DecideComparable(a, b, &diff);
  return diff;
}

}  // namespace acceltrace::analysis
