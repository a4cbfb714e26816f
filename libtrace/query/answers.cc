// SPDX-License-Identifier: Apache-2.0
//
// Results of libtrace/analysis as tables.
#include <algorithm>
#include <memory>
#include <utility>

#include "libtrace/analysis/checks/clock_quality.h"
#include "libtrace/analysis/checks/losses.h"
#include "libtrace/analysis/rows/unknown.h"
#include "libtrace/analysis/usage/activity.h"
#include "libtrace/analysis/usage/calls.h"
#include "libtrace/analysis/usage/command_answers.h"
#include "libtrace/analysis/usage/latency.h"
#include "libtrace/analysis/usage/ops.h"
#include "libtrace/analysis/usage/ranges.h"
#include "libtrace/analysis/usage/transfers.h"
#include "libtrace/analysis/usage/utilisation.h"
#include "libtrace/query/gap_rows.h"
#include "libtrace/query/table_builder.h"

namespace acceltrace::query {
namespace {

using analysis::Amount;
using analysis::Ratio;
using analysis::Span;
using Type = PlainTable::Type;

// Adds columns NAME_ns, NAME_lo_ns, NAME_hi_ns. get: the interval of a row.
template <typename Get>
void AddInterval(const std::string& name, Get get, TableBuilder* table) {
  table->Add(name + "_ns", Type::kInteger, [get](size_t row) { return get(row).mid_ns; });
  table->Add(name + "_lo_ns", Type::kInteger, [get](size_t row) {
    const auto at = get(row);
    return analysis::IfKnown(at.lo_ns, at.mid_ns);
  });
  table->Add(name + "_hi_ns", Type::kInteger, [get](size_t row) {
    const auto at = get(row);
    return analysis::IfKnown(at.hi_ns, at.mid_ns);
  });
}

// Builds a table whose rows are computed structs.
template <typename Row>
class RowTable {
 public:
  RowTable(const char* name, Lazy<std::vector<Row>> rows)
      : rows_(rows), table_(name, [rows] { return rows->size(); }) {}

  template <typename Get>
  RowTable& Text(const char* name, Get get) {
    table_.Text(
        name, [rows = rows_, get](size_t row) -> const std::string& { return get((*rows)[row]); });
    return *this;
  }
  // get: returns a number.
  template <typename Get>
  RowTable& Number(std::string name, Get get) {
    using Value = decltype(get(std::declval<const Row&>()));
    constexpr bool kReal = std::is_floating_point_v<Value>;
    table_.Add(std::move(name), kReal ? Type::kReal : Type::kInteger,
               [rows = rows_, get](size_t row) {
                 if constexpr (kReal) {
                   return Cell{static_cast<double>(get((*rows)[row]))};
                 } else if constexpr (std::is_signed_v<Value>) {
                   return int64_t{get((*rows)[row])};
                 } else {
                   return static_cast<uint64_t>(get((*rows)[row]));
                 }
               });
    return *this;
  }
  // get: returns an optional number or any other cell.
  template <typename Get>
  RowTable& Other(std::string name, Type type, Get get) {
    table_.Add(std::move(name), type,
               [rows = rows_, get](size_t row) { return get((*rows)[row]); });
    return *this;
  }
  template <typename Get>
  RowTable& Time(const std::string& name, Get get) {
    AddInterval(
        name, [rows = rows_, get](size_t row) { return Rounded(get((*rows)[row])); }, &table_);
    return *this;
  }
  // Adds NAME, NAME_lo, NAME_hi.
  template <typename Get>
  RowTable& Share(const std::string& name, Get get) {
    Number(name, [get](const Row& row) { return double{get(row).mid}; });
    Number(name + "_lo", [get](const Row& row) { return double{get(row).lo}; });
    return Number(name + "_hi", [get](const Row& row) { return double{get(row).hi}; });
  }
  TableBuilder& builder() { return table_; }
  PlainTable Done() { return table_.Done(); }

 private:
  static Span Rounded(const Span& span) { return span; }
  static Span Rounded(const Amount& amount) { return amount.Round(); }

  Lazy<std::vector<Row>> rows_;
  TableBuilder table_;
};

// Returns the device name of a row.
template <typename Row>
auto DeviceOf(const model::Model& model) {
  return [&model](const Row& row) -> const std::string& {
    return model.devices[row.device].about.name();
  };
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

PlainTable Trace(const model::Model& model) {
  struct Row {
    std::string command;
    const model::Model* model;
  };
  const Lazy<std::vector<Row>> rows([&model] {
    return std::vector<Row>{{Joined(model.info.command()), &model}};
  });
  RowTable<Row> table("trace", rows);
  const auto stop = [](const Row& row) -> Cell {
    return row.model->has_accounts ? Cell{int64_t{row.model->accounts.stop_ns()}} : Cell{};
  };
  return table.Text("command", [](const Row& row) -> const std::string& { return row.command; })
      .Text("host", [](const Row& row) -> const std::string& { return row.model->info.host(); })
      .Text("kernel", [](const Row& row) -> const std::string& { return row.model->info.kernel(); })
      .Text("cpu", [](const Row& row) -> const std::string& { return row.model->info.cpu(); })
      .Number("num_cpus", [](const Row& row) { return row.model->info.num_cpus(); })
      .Text("tool_version",
            [](const Row& row) -> const std::string& { return row.model->info.tool_version(); })
      .Number("begin_ns", [](const Row& row) { return row.model->begin_ns; })
      .Number("end_ns", [](const Row& row) { return row.model->end_ns; })
      .Number("start_ns", [](const Row& row) { return int64_t{row.model->info.start_ns()}; })
      .Other("stop_ns", Type::kInteger, stop)
      .Number("realtime_offset_ns",
              [](const Row& row) { return int64_t{row.model->info.realtime_offset_ns()}; })
      .Number("bytes", [](const Row& row) { return row.model->read.bytes; })
      .Number("damaged_stretches", [](const Row& row) { return row.model->read.gap_count; })
      .Done();
}

PlainTable Ops(const model::Model& model, const Lazy<std::vector<analysis::OpUse>>& rows) {
  using Row = analysis::OpUse;
  return RowTable<Row>("ops", rows)
      .Text("device", DeviceOf<Row>(model))
      .Text("unit", [](const Row& row) -> const std::string& { return row.unit; })
      .Text("op", [](const Row& row) -> const std::string& { return row.name; })
      .Number("count", [](const Row& row) { return row.count; })
      .Number("failed", [](const Row& row) { return row.failed; })
      .Number("work", [](const Row& row) { return row.work; })
      .Number("bytes", [](const Row& row) { return row.bytes; })
      .Number("memory_bytes", [](const Row& row) { return row.memory_bytes; })
      .Time("time", [](const Row& row) { return row.time; })
      .Time("longest", [](const Row& row) { return row.longest; })
      .Time("held", [](const Row& row) { return row.held; })
      .Share("share", [](const Row& row) { return row.share; })
      .Share("busy_share", [](const Row& row) { return row.busy_share; })
      .Text("limiter", [](const Row& row) -> const std::string& { return row.limiter; })
      .Done();
}

PlainTable Calls(const model::Model& model) {
  using Row = analysis::CallUse;
  const Lazy<std::vector<Row>> rows([&model] { return analysis::ComputeCalls(model); });
  return RowTable<Row>("api_calls", rows)
      .Text("name", [](const Row& row) -> const std::string& { return row.name; })
      .Number("count", [](const Row& row) { return row.time.count + row.open; })
      .Number("open", [](const Row& row) { return row.open; })
      .Number("failed", [](const Row& row) { return row.failed; })
      .Number("bytes", [](const Row& row) { return row.bytes; })
      .Number("jobs", [](const Row& row) { return row.jobs; })
      .Number("total_ns", [](const Row& row) { return row.time.total.mid_ns; })
      .Number("min_ns", [](const Row& row) { return row.time.min.mid_ns; })
      .Number("mean_ns", [](const Row& row) { return row.time.mean.mid_ns; })
      .Number("p50_ns", [](const Row& row) { return row.time.p50.mid_ns; })
      .Number("p90_ns", [](const Row& row) { return row.time.p90.mid_ns; })
      .Number("p99_ns", [](const Row& row) { return row.time.p99.mid_ns; })
      .Number("max_ns", [](const Row& row) { return row.time.max.mid_ns; })
      .Done();
}

// Stages of some jobs at a time: those of all would be larger than the trace.
class StageRows {
 public:
  explicit StageRows(const model::Model& model)
      : model_(model), lines_(model), times_(model.devices.begin(), model.devices.end()) {}
  const analysis::JobStages& At(size_t job) {
    if (job < first_ || job >= first_ + stages_.size()) Fill(job / kRows * kRows);
    return stages_[job - first_];
  }

 private:
  static constexpr size_t kRows = kRowsAtOnce;
  void Fill(size_t first) {
    first_ = first;
    stages_.resize(std::min(kRows, model_.jobs.size() - first));
    for (size_t i = 0; i < stages_.size(); ++i) {
      analysis::StagesOfJob(&lines_, times_, first + i, &stages_[i]);
    }
  }

  const model::Model& model_;
  analysis::JobTimelines lines_;
  std::vector<analysis::Durations> times_;
  size_t first_ = 0;
  std::vector<analysis::JobStages> stages_;
};

// One row per job with the length of each stage, or NULL if an end was not seen.
PlainTable Stages(const model::Model& model) {
  using analysis::JobStages;
  const auto rows = std::make_shared<StageRows>(model);
  TableBuilder table("job_stages", model.jobs.size());
  const model::Jobs& jobs = model.jobs;
  table
      .Text("device",
            [&](size_t row) -> const std::string& {
              return model.devices[model.jobs.device[row]].about.name();
            })
      .Number("job", jobs.job)
      .Number("pid", jobs.pid)
      .Time("submit_ns", jobs.submit_ns);
  const auto add = [&](const std::string& name, auto get) {
    constexpr std::pair<const char*, int64_t Span::*> kParts[] = {
        {"_ns", &Span::mid_ns}, {"_lo_ns", &Span::lo_ns}, {"_hi_ns", &Span::hi_ns}};
    for (const auto& [suffix, part] : kParts) {
      table.Add(name + suffix, Type::kInteger, [rows, get, part = part](size_t row) {
        const std::optional<Span>& span = get(rows->At(row));
        return span ? analysis::IfKnown((*span).*part, span->mid_ns) : std::nullopt;
      });
    }
  };
  const std::vector<std::string> names = analysis::StageNames();
  for (size_t s = 0; s < names.size(); ++s) {
    add(
        names[s], [s](const JobStages& stages) -> const auto& { return stages.stages[s]; });
  }
  add(
      "end_to_end", [](const JobStages& stages) -> const auto& { return stages.end_to_end; });
  add(
      "until_returned",
      [](const JobStages& stages) -> const auto& { return stages.until_returned; });
  return table.Done();
}

PlainTable Transfers(const model::Model& model,
                     const Lazy<std::vector<analysis::DeviceTransfers>>& transfers) {
  struct Row {
    uint32_t device;
    std::string unit;
    bool to_device;
    analysis::SizeClass size;
  };
  const Lazy<std::vector<Row>> rows([transfers] {
    std::vector<Row> list;
    for (const analysis::DeviceTransfers& device : *transfers) {
      for (const analysis::Direction& direction : device.directions) {
        for (const analysis::SizeClass& size : direction.sizes) {
          list.push_back({device.device, direction.name, direction.to_device, size});
        }
      }
    }
    return list;
  });
  // The last class has no bound.
  const auto up_to = [](const Row& row) -> Cell {
    return row.size.up_to_bytes == UINT64_MAX ? Cell{} : Cell{row.size.up_to_bytes};
  };
  return RowTable<Row>("transfers", rows)
      .Text("device", DeviceOf<Row>(model))
      .Text("unit", [](const Row& row) -> const std::string& { return row.unit; })
      .Number("to_device", [](const Row& row) { return uint64_t{row.to_device}; })
      .Other("up_to_bytes", Type::kInteger, up_to)
      .Number("count", [](const Row& row) { return row.size.count; })
      .Number("bytes", [](const Row& row) { return row.size.bytes; })
      .Time("time", [](const Row& row) { return row.size.time; })
      .Share("bytes_per_s", [](const Row& row) { return row.size.bytes_per_s; })
      .Share("of_link", [](const Row& row) { return row.size.of_link; })
      .Done();
}

struct UnitPart {
  uint32_t device;
  const analysis::UnitUse* unit;
  std::string cause;
  uint64_t ticks;
  Amount time;
  Ratio share;
};

// Units and their stalls: one computation for both tables.
using Use = std::vector<analysis::DeviceUse>;

PlainTable Units(const model::Model& model, const Lazy<Use>& use) {
  using Row = analysis::UnitUse;
  const Lazy<std::vector<Row>> rows([use] {
    std::vector<Row> list;
    for (const analysis::DeviceUse& device : *use) {
      list.insert(list.end(), device.units.begin(), device.units.end());
    }
    return list;
  });
  return RowTable<Row>("units", rows)
      .Text("device", DeviceOf<Row>(model))
      .Text("unit", [](const Row& row) -> const std::string& { return row.name; })
      .Number("commands", [](const Row& row) { return row.commands; })
      .Number("failed", [](const Row& row) { return row.failed; })
      .Number("work", [](const Row& row) { return row.work; })
      .Text("work_unit", [](const Row& row) -> const std::string& { return row.work_unit; })
      .Time("busy", [](const Row& row) { return row.busy; })
      .Time("stalled", [](const Row& row) { return row.stalled; })
      .Time("idle", [](const Row& row) { return row.idle; })
      .Share("busy_share", [](const Row& row) { return row.busy_share; })
      .Share("stalled_share", [](const Row& row) { return row.stalled_share; })
      .Share("idle_share", [](const Row& row) { return row.idle_share; })
      .Share("work_per_s", [](const Row& row) { return row.work_per_s; })
      .Done();
}

PlainTable Stalls(const model::Model& model, const Lazy<Use>& use) {
  const Lazy<std::vector<UnitPart>> rows([use, &model] {
    std::vector<UnitPart> list;
    for (const analysis::DeviceUse& device : *use) {
      const auto& causes = model.devices[device.device].about.stalls();
      for (const analysis::UnitUse& unit : device.units) {
        for (size_t s = 0; s < unit.stalls.size(); ++s) {
          list.push_back({device.device, &unit, causes.Get(static_cast<int>(s)),
                          unit.stall_ticks[s], unit.stalls[s], unit.stall_shares[s]});
        }
      }
    }
    return list;
  });
  return RowTable<UnitPart>("stalls", rows)
      .Text("device", DeviceOf<UnitPart>(model))
      .Text("unit", [](const UnitPart& row) -> const std::string& { return row.unit->name; })
      .Text("cause", [](const UnitPart& row) -> const std::string& { return row.cause; })
      .Number("ticks", [](const UnitPart& row) { return row.ticks; })
      .Time("time", [](const UnitPart& row) { return row.time; })
      .Share("share", [](const UnitPart& row) { return row.share; })
      .Done();
}

PlainTable Gaps(const model::Model& model) {
  const auto rows = std::make_shared<GapRows>(model);
  TableBuilder table("gaps", [rows] { return rows->size(); });
  table.Text("device", [&model, rows](size_t row) -> const std::string& {
    return model.devices[rows->At(row).device].about.name();
  });
  AddInterval(
      "begin", [rows](size_t row) { return rows->At(row).begin; }, &table);
  AddInterval(
      "end", [rows](size_t row) { return rows->At(row).end; }, &table);
  AddInterval(
      "length", [rows](size_t row) { return rows->At(row).length; }, &table);
  return table.Done();
}

PlainTable RangeTotals(const model::Model& model) {
  using Row = analysis::RangeUse;
  const Lazy<std::vector<Row>> rows([&model] { return analysis::ComputeRanges(model, false); });
  const auto parent = [](const Row& row) -> Cell {
    return row.parent == model::kNoRow ? Cell{} : Cell{uint64_t{row.parent} + 1};
  };
  RowTable<Row> table("range_totals", rows);
  table.builder().Add("id", Type::kInteger, [](size_t row) -> Cell { return uint64_t{row + 1}; });
  return table.Text("name", [](const Row& row) -> const std::string& { return row.name; })
      .Other("parent_id", Type::kInteger, parent)
      .Number("depth", [](const Row& row) { return row.depth; })
      .Number("count", [](const Row& row) { return row.count; })
      .Number("host_ns", [](const Row& row) { return row.host_ns; })
      .Number("longest_ns", [](const Row& row) { return row.longest_ns; })
      .Number("jobs", [](const Row& row) { return row.jobs; })
      .Number("commands", [](const Row& row) { return row.commands; })
      .Time("device_time", [](const Row& row) { return row.device; })
      .Done();
}

PlainTable Hops(const model::Model& model) {
  using Row = analysis::HopUse;
  const Lazy<std::vector<Row>> rows([&model] { return analysis::ComputeLosses(model).hops; });
  return RowTable<Row>("hops", rows)
      .Text("hop", [](const Row& row) -> const std::string& { return row.name; })
      .Number("events_in", [](const Row& row) { return row.in; })
      .Number("events_out", [](const Row& row) { return row.out; })
      .Number("lost", [](const Row& row) { return row.lost; })
      .Number("bad", [](const Row& row) { return row.bad; })
      .Number("waiting", [](const Row& row) { return row.waiting; })
      .Text("next_hop", [](const Row& row) -> const std::string& { return row.into; })
      .Done();
}

PlainTable Clocks(const model::Model& model) {
  using Row = analysis::ClockQuality;
  const Lazy<std::vector<Row>> rows([&model] { return analysis::ComputeClockQuality(model); });
  return RowTable<Row>("clocks", rows)
      .Text("device", DeviceOf<Row>(model))
      .Number("valid", [](const Row& row) { return uint64_t{row.valid}; })
      .Text("error", [](const Row& row) -> const std::string& { return row.error; })
      .Number("nominal_hz", [](const Row& row) { return row.nominal_hz; })
      .Number("rate_ppm", [](const Row& row) { return row.fit.rate_ppm; })
      .Number("samples", [](const Row& row) { return row.fit.samples; })
      .Number("samples_rejected", [](const Row& row) { return row.fit.samples_rejected; })
      .Number("samples_wrong", [](const Row& row) { return row.fit.samples_wrong; })
      .Number("constraints", [](const Row& row) { return row.fit.constraints; })
      .Number("constraints_rejected", [](const Row& row) { return row.fit.constraints_rejected; })
      .Number("resets", [](const Row& row) { return row.fit.resets; })
      .Number("steps", [](const Row& row) { return row.fit.steps; })
      .Number("round_trip_min_ns", [](const Row& row) { return row.fit.round_trip_min_ns; })
      .Number("events", [](const Row& row) { return row.events; })
      .Number("events_outside", [](const Row& row) { return row.outside; })
      .Other("bound_p50_ns", Type::kInteger,
             [](const Row& row) { return analysis::IfKnown(row.bound_p50_ns); })
      .Other("bound_p99_ns", Type::kInteger,
             [](const Row& row) { return analysis::IfKnown(row.bound_p99_ns); })
      .Other("bound_max_ns", Type::kInteger,
             [](const Row& row) { return analysis::IfKnown(row.bound_max_ns); })
      .Done();
}

// Sums over commands, shared by their tables.
struct OfCommands {
  Lazy<Use> use;
  Lazy<std::vector<analysis::OpUse>> ops;
  Lazy<std::vector<analysis::DeviceTransfers>> transfers;
};

std::vector<PlainTable> Tables(const model::Model& model, const OfCommands& of) {
  return {Trace(model),
          Ops(model, of.ops),
          Calls(model),
          Stages(model),
          Transfers(model, of.transfers),
          Units(model, of.use),
          Stalls(model, of.use),
          Gaps(model),
          RangeTotals(model),
          Hops(model),
          Clocks(model)};
}

}  // namespace

std::vector<PlainTable> AnswerTables(const model::Model& model) {
  return Tables(
      model,
      {Lazy<Use>([&model] { return analysis::ComputeUtilisation(model); }),
       Lazy<std::vector<analysis::OpUse>>([&model] { return analysis::ComputeOpsByName(model); }),
       Lazy<std::vector<analysis::DeviceTransfers>>(
           [&model] { return analysis::ComputeTransfers(model); })});
}

std::vector<PlainTable> AllAnswerTables(const model::Model& model) {
  const Lazy<analysis::CommandAnswers> all(
      [&model] { return analysis::ComputeOfCommands(model, false); });
  return Tables(model,
                {Lazy<Use>([all] { return all->utilisation; }),
                 Lazy<std::vector<analysis::OpUse>>([all] { return all->ops.by_name; }),
                 Lazy<std::vector<analysis::DeviceTransfers>>([all] { return all->transfers; })});
}

}  // namespace acceltrace::query
