// SPDX-License-Identifier: Apache-2.0
//
// Looks up in a trace what rules can name.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/check/evaluate.h"
#include "libtrace/model/part/select.h"

namespace acceltrace::check {
namespace {

using analysis::Amount;
using analysis::Span;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value Exact(double number) {
  Value value;
  value.lo = value.mid = value.hi = number;
  return value;
}
template <typename Bounds>
Value Between(const Bounds& bounds) {
  Value value;
  value.lo = bounds.lo, value.mid = bounds.mid, value.hi = bounds.hi;
  return value;
}
Value OfSpan(const Span& span) { return Between(analysis::ToAmount(span)); }

Value NotThere(const std::string& what, const std::string& name, std::vector<std::string> there) {
  Value value;
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  constexpr size_t kMost = 12;
  std::string names;
  for (size_t i = 0; i < there.size() && i < kMost; ++i) {
    if (!there[i].empty()) names += (names.empty() ? "" : ", ") + there[i];
  }
  if (there.size() > kMost) names += " and " + std::to_string(there.size() - kMost) + " more";
  value.unknown = "there is no " + what + " " + name + " in the trace" +
                  (names.empty() ? "" : "; there are: " + names);
  return value;
}

bool Matches(const std::string& text, const Series& series) {
  return series.glob ? model::MatchesGlob(text, series.name) : text == series.name;
}

// Matches each name once, by its string id: there are few names but many rows.
class NameMatches {
 public:
  NameMatches(const model::Model& model, const Series& series) : model_(model), series_(series) {}
  bool operator()(uint32_t id) {
    const auto [known, fresh] = known_.try_emplace(id, false);
    if (fresh) {
      const std::string& name = model_.strings.Get(id);
      known->second = Matches(name, series_);
      names_.push_back(name);
    }
    return known->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  const model::Model& model_;
  const Series& series_;
  std::unordered_map<uint32_t, bool> known_;
  std::vector<std::string> names_;
};

// Converts a cell to a number. Returns false if it does not hold one.
bool NumberOf(const query::Cell& cell, double* number) {
  if (const auto* i = std::get_if<int64_t>(&cell)) *number = static_cast<double>(*i);
  if (const auto* u = std::get_if<uint64_t>(&cell)) *number = static_cast<double>(*u);
  if (const auto* d = std::get_if<double>(&cell)) *number = *d;
  return !std::holds_alternative<std::monostate>(cell) &&
         !std::holds_alternative<std::string_view>(cell);
}

bool Fulfils(const query::Cell& cell, const Condition& condition) {
  if (const auto* wanted = std::get_if<std::string>(&condition.value)) {
    const auto* text = std::get_if<std::string_view>(&cell);
    if (text == nullptr) return false;
    return model::MatchesGlob(*text, *wanted) == (condition.compare == Compare::kEqual);
  }
  double number = 0;
  if (!NumberOf(cell, &number)) return false;
  return Holds(number, condition.compare, std::get<double>(condition.value));
}

}  // namespace

Trace::Trace(const analysis::Report& report) : report_(report), model_(*report.model) {
  lossy_ = !analysis::FindFaults(model_, report.losses).empty();
  tables_ = query::PlainTables(model_);
  for (auto* more : {query::SystemTables, query::AnswerTables}) {
    for (query::PlainTable& table : more(model_)) tables_.push_back(std::move(table));
  }
}

const query::PlainTable* Trace::Find(const std::string& name) const {
  for (const query::PlainTable& table : tables_) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

Value Trace::Scalar(const std::string& name) const {
  const analysis::Losses& losses = report_.losses;
  const analysis::Counts& counts = report_.counts;
  const analysis::Breakdown& breakdown = report_.breakdown;
  const auto grown = [&](uint64_t count) {
    Value value = Exact(static_cast<double>(count));
    if (lossy_) value.hi = kInfinity;
    return value;
  };
  const auto anything = [&](Value value) {
    if (lossy_) value.lo = 0, value.hi = kInfinity;
    return value;
  };
  if (name == "losses") {
    return Exact(static_cast<double>(losses.lost + losses.bad + losses.missing_packets +
                                     losses.bad_packets + losses.unusable_rows));
  }
  if (name == "damage") return Exact(static_cast<double>(losses.damaged_stretches));
  if (name == "faults") {
    return Exact(static_cast<double>(analysis::FindFaults(model_, losses).size()));
  }
  if (name == "violations") return Exact(static_cast<double>(report_.causality.violations));
  if (name == "broken_laws") {
    return Exact(static_cast<double>(std::count_if(
        report_.laws.begin(), report_.laws.end(),
        [](const analysis::Law& law) { return law.state == analysis::Law::State::kBroken; })));
  }
  if (name == "jobs") return grown(counts.jobs);
  if (name == "commands") return grown(counts.commands);
  if (name == "calls") return grown(counts.api_calls);
  if (name == "failed")
    return grown(counts.api_failed + counts.jobs_failed + counts.commands_failed);
  if (name == "run") return anything(OfSpan(breakdown.run));
  if (name == "overlap") return anything(OfSpan(breakdown.overlap));
  if (name == "gap_time") return anything(OfSpan(breakdown.gap_total));
  if (name == "gaps") {
    Value value = Exact(static_cast<double>(breakdown.gaps));
    value.lo = static_cast<double>(std::min(breakdown.gaps_lo, breakdown.gaps));
    value.hi = static_cast<double>(std::max(breakdown.gaps_hi, breakdown.gaps));
    return anything(value);
  }
  // For clock_error, the worst bound of any event.
  int64_t worst_ns = 0;
  for (const analysis::ClockQuality& clock : report_.clocks) {
    if (!clock.valid) return NotThere("clock of", model_.devices[clock.device].about.name(), {});
    worst_ns = std::max(worst_ns, clock.bound_max_ns);
  }
  return Exact(static_cast<double>(worst_ns));
}

// Looks up a name without a head among the classes, limiters and units. If several devices or units
// have that name, the largest share counts.
Value Trace::Share(const Series& series) const {
  std::vector<std::string> there;
  std::vector<Value> found;
  const auto see = [&](const char* head, const std::string& name, const Value& value) {
    const bool asked =
        series.head.empty() ? std::string_view(head) != "stall" : series.head == head;
    if (!asked) return;
    there.push_back(name);
    if (Matches(name, series)) found.push_back(value);
  };
  const analysis::Breakdown& breakdown = report_.breakdown;
  const auto of_run = [&](const Span& span) { return Between(breakdown.Share(span)); };
  const auto take = [&]() -> bool { return !found.empty() && series.head.empty(); };
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    see("class", analysis::ClassName(static_cast<analysis::Class>(c)), of_run(breakdown.time[c]));
  }
  if (!take()) {
    for (const auto& [name, span] : breakdown.limiters) see("limiter", name, of_run(span));
  }
  for (const analysis::DeviceUse& device : report_.utilisation) {
    if (take()) break;
    const auto& causes = model_.devices[device.device].about.stalls();
    for (const analysis::UnitUse& unit : device.units) {
      see("unit", unit.name, Between(unit.busy_share));
      for (size_t s = 0; s < unit.stall_shares.size(); ++s) {
        see("stall", causes.Get(static_cast<int>(s)), Between(unit.stall_shares[s]));
      }
    }
  }
  if (found.empty()) return NotThere("class, limiter or unit", series.name, std::move(there));
  Value value = *std::max_element(found.begin(), found.end(),
                                  [](const Value& a, const Value& b) { return a.mid < b.mid; });
  // The maximum of all shares is bounded by the maxima of their bounds.
  for (const Value& one : found) {
    value.lo = std::max(value.lo, one.lo);
    value.hi = std::max(value.hi, one.hi);
  }
  if (lossy_) value.lo = 0, value.hi = 1;
  return value;
}

Value Trace::Count(const Node& node) const {
  const query::PlainTable* table = Find(node.series.head);
  if (table == nullptr) {
    std::vector<std::string> names;
    for (const query::PlainTable& one : tables_) names.push_back(one.name);
    return NotThere("table", node.series.head, std::move(names));
  }
  std::vector<const query::PlainTable::Column*> columns;
  for (const Condition& condition : node.conditions) {
    const auto found =
        std::find_if(table->columns.begin(), table->columns.end(),
                     [&](const auto& column) { return column.name == condition.column; });
    if (found == table->columns.end()) {
      return NotThere("column", table->name + "." + condition.column, {});
    }
    const bool text = found->type == query::PlainTable::Type::kText;
    if (text != std::holds_alternative<std::string>(condition.value)) {
      Value value;
      value.unknown = table->name + "." + condition.column +
                      (text ? " is text: compare it with a text in quotes"
                            : " is a number: compare it with one");
      return value;
    }
    columns.push_back(&*found);
  }
  uint64_t count = 0;
  const size_t rows = table->rows();
  for (size_t row = 0; row < rows; ++row) {
    bool all = true;
    for (size_t c = 0; all && c < columns.size(); ++c) {
      all = Fulfils(columns[c]->cell(row), node.conditions[c]);
    }
    count += all;
  }
  Value value = Exact(static_cast<double>(count));
  if (lossy_) value.hi = kInfinity;
  return value;
}

std::vector<Amount> Trace::Members(const Series& series, std::string* why) const {
  if (series.head == "job") return JobMembers(series.name);
  if (series.head == "op" || series.head == "unit") return CommandMembers(series, why);
  if (series.head == "api" || series.head == "range") return NamedMembers(series, why);
  return ColumnMembers(series, why);
}

std::vector<Amount> Trace::JobMembers(const std::string& name) const {
  const std::vector<analysis::Durations> times(model_.devices.begin(), model_.devices.end());
  const std::vector<std::string> names = analysis::StageNames();
  const auto stage =
      static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  std::vector<Amount> members;
  const auto lines = std::make_unique<analysis::JobTimelines>(model_);
  analysis::JobStages stages;
  for (size_t job = 0; job < model_.jobs.size(); ++job) {
    analysis::StagesOfJob(lines.get(), times, job, &stages);
    const std::optional<Span>& span = name == "latency"  ? stages.end_to_end
                                      : name == "return" ? stages.until_returned
                                                         : stages.stages[stage];
    if (span) members.push_back(analysis::ToAmount(*span));
  }
  return members;
}

std::vector<Amount> Trace::CommandMembers(const Series& series, std::string* why) const {
  const model::Commands& commands = model_.commands;
  const std::vector<analysis::Durations> times(model_.devices.begin(), model_.devices.end());
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, bool> known;
  std::vector<std::string> names;
  std::vector<Amount> members;
  for (size_t i = 0; i < commands.size(); ++i) {
    const model::Device& device = model_.devices[commands.device[i]];
    const bool of_unit = series.head == "unit";
    const auto [match, fresh] = known.try_emplace(
        of_unit ? std::make_tuple(commands.device[i], commands.unit[i], 0u)
                : std::make_tuple(commands.device[i], commands.op[i], commands.opcode[i]),
        false);
    if (fresh) {
      const std::string& name = of_unit ? device.UnitName(commands.unit[i]) : model_.OpName(i);
      names.push_back(name);
      match->second = Matches(name, series);
    }
    if (!match->second) continue;
    members.push_back(times[commands.device[i]].Elapsed(analysis::MarkOf(commands.start, i),
                                                        analysis::MarkOf(commands.end, i)));
  }
  if (members.empty()) *why = NotThere(series.head, series.name, std::move(names)).unknown;
  return members;
}

std::vector<Amount> Trace::NamedMembers(const Series& series, std::string* why) const {
  const bool calls = series.head == "api";
  NameMatches matches(model_, series);
  std::vector<Amount> members;
  const auto add = [&](const model::Column<int64_t>& begin, const model::Column<int64_t>& end,
                       size_t row) {
    const auto ns = static_cast<double>(end[row] - begin[row]);
    members.push_back({ns, ns, ns});
  };
  const model::ApiCalls& api = model_.api;
  for (size_t i = 0; calls && i < api.size(); ++i) {
    // Calls whose begin or end was not recorded have no known duration.
    if (matches(api.name[i]) && !api.open[i] && !api.began_before[i]) {
      add(api.begin_ns, api.end_ns, i);
    }
  }
  const model::Ranges& ranges = model_.ranges;
  for (size_t r = 0; !calls && r < ranges.size(); ++r) {
    if (!ranges.mark[r] && matches(ranges.name[r]) && !ranges.open[r] && !ranges.began_before[r]) {
      add(ranges.begin_ns, ranges.end_ns, r);
    }
  }
  if (members.empty()) *why = NotThere(series.head, series.name, matches.names()).unknown;
  return members;
}

std::vector<Amount> Trace::ColumnMembers(const Series& series, std::string* why) const {
  const query::PlainTable* table = Find(series.head);
  std::vector<Amount> members;
  if (table == nullptr) {
    *why = NotThere("series or table", series.head, {"job", "op", "api", "range", "unit"}).unknown;
    return members;
  }
  const auto column = std::find_if(table->columns.begin(), table->columns.end(),
                                   [&](const auto& one) { return one.name == series.name; });
  if (column == table->columns.end() || column->type == query::PlainTable::Type::kText) {
    *why = NotThere("column of numbers", series.head + "." + series.name, {}).unknown;
    return members;
  }
  const size_t rows = table->rows();
  for (size_t row = 0; row < rows; ++row) {
    double number = 0;
    if (NumberOf(column->cell(row), &number)) members.push_back({number, number, number});
  }
  return members;
}

}  // namespace acceltrace::check
