// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/needs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace acceltrace::query {
namespace {

using proto::CommandBatch;

constexpr std::string_view kEventTables[] = {"api",      "ranges",   "host_events",
                                             "jobs",     "commands", "device_events",
                                             "counters", "devices",  "processes"};

// Returns the field of a column of commands that depends on no clock and on no other table.
std::optional<uint32_t> PlainField(std::string_view name) {
  if (name.empty() || name == "device") return CommandBatch::kDeviceFieldNumber;  // "": its rows
  if (name == "op") return CommandBatch::kTagFieldNumber;
  std::optional<uint32_t> field;
  model::EachCommandColumn([&](const auto& column) {
    if (column.name == name) field = column.field;
  });
  return field;
}

// Instants of the rows of a table that are within the row's own time.
constexpr std::pair<std::string_view, std::string_view> kTimes[] = {
    {"api", "begin_ns"},       {"api", "end_ns"},          {"ranges", "begin_ns"},
    {"ranges", "end_ns"},      {"host_events", "time_ns"}, {"jobs", "submit_ns"},
    {"jobs", "doorbell_ns"},   {"jobs", "submit_end_ns"},  {"jobs", "device_doorbell_ns"},
    {"jobs", "fetched_ns"},    {"jobs", "first_start_ns"}, {"jobs", "last_end_ns"},
    {"jobs", "completion_ns"}, {"commands", "fetched_ns"}, {"commands", "head_ns"},
    {"commands", "start_ns"},  {"commands", "end_ns"},     {"device_events", "time_ns"},
};
// A device's clock may differ by this if it is fitted to a part; this is more than sufficient.
constexpr int64_t kMarginNs = 1'000'000;
// Limit for a query of tables without rows.
constexpr uint64_t kSteps = 100'000;

std::optional<Times> TimesOf(std::string_view sql, const Reads& reads, Database* database) {
  // A row's number is its position in the whole table.
  if (reads.size() != 1 || reads.begin()->second.count("ROWID") != 0) return std::nullopt;
  const std::string& table = reads.begin()->first;
  std::vector<std::string_view> columns;
  for (const auto& [of, column] : kTimes) {
    if (of == table && reads.begin()->second.count(std::string(column)) != 0) {
      columns.push_back(column);
    }
  }
  if (columns.empty()) return std::nullopt;
  std::optional<Times> times = database->TimesOf(sql, table, columns);
  if (!times) return times;
  times->lo_ns = std::max(times->lo_ns, INT64_MIN + kMarginNs) - kMarginNs;
  times->hi_ns = std::min(times->hi_ns, INT64_MAX - kMarginNs) + kMarginNs;
  return times;
}

// The fields of the ticks of each instant, which are relative to the previous one.
constexpr std::pair<std::string_view, uint32_t> kInstants[] = {
    {"fetched", CommandBatch::kFetchedTicksDeltaFieldNumber},
    {"head", CommandBatch::kHeadTicksAfterFieldNumber},
    {"start", CommandBatch::kStartTicksAfterFieldNumber},
    {"end", CommandBatch::kEndTicksAfterFieldNumber},
};

// Returns false for other columns.
bool AddTicks(std::string_view column, std::vector<uint32_t>* fields) {
  const bool busy = column == "busy_ticks";
  if (busy) fields->push_back(CommandBatch::kStallTicksFieldNumber);
  for (const auto& [instant, field] : kInstants) {
    fields->push_back(field);
    if (busy || !column.starts_with(instant)) continue;
    const std::string_view rest = column.substr(instant.size());
    return rest == "_ticks" || rest == "_raw_ticks";
  }
  return busy;
}

std::optional<std::vector<uint32_t>> CommandFieldsOf(const Reads& reads) {
  std::vector<uint32_t> fields;
  for (const auto& [table, columns] : reads) {
    if (table != "commands") return std::nullopt;
    for (const std::string& column : columns) {
      if (const auto plain = PlainField(column)) {
        fields.push_back(*plain);
      } else if (!AddTicks(column, &fields)) {
        return std::nullopt;
      }
    }
  }
  if (reads.empty()) return std::nullopt;
  return fields;
}

// Columns of jobs that only depend on the host, or on the device without its clock.
constexpr std::string_view kWithoutClock[] = {"",
                                              "device",
                                              "job",
                                              "context",
                                              "queue",
                                              "sequence",
                                              "correlation",
                                              "host_correlation",
                                              "on_host",
                                              "on_device",
                                              "pid",
                                              "tid",
                                              "api_name",
                                              "wait_api_name",
                                              "wait_correlation",
                                              "commands_submitted",
                                              "commands_retired",
                                              "copy_bytes",
                                              "status",
                                              "submit_ns",
                                              "doorbell_ns",
                                              "submit_end_ns",
                                              "consumed_ns",
                                              "wait_ns",
                                              "wake_ns"};
// Columns of jobs that depend on calls.
constexpr std::string_view kOfCalls[] = {"pid", "tid", "api_name", "wait_api_name",
                                         "wait_correlation"};

template <typename Names>
bool IsOneOf(const std::string& name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void WantJobs(const std::set<std::string>& columns, model::Wanted* wanted) {
  wanted->jobs = true;
  for (const std::string& column : columns) {
    wanted->api |= IsOneOf(column, kOfCalls);
    wanted->device_times |= !IsOneOf(column, kWithoutClock);
  }
  // Needed for jobs that neither side knows.
  if (wanted->commands) wanted->commands->push_back(CommandBatch::kCorrelationDeltaFieldNumber);
}

void WantCommands(const std::set<std::string>& columns, model::Wanted* wanted) {
  for (const std::string& column : columns) {
    // Its name depends on the process of its job.
    wanted->api |= column == "op";
    std::vector<uint32_t> fields;
    if (const auto plain = PlainField(column)) {
      fields.push_back(*plain);
    } else if (!AddTicks(column, &fields)) {
      // A time on the host's clock, or a cause of stalls.
      if (!column.ends_with("_ns")) wanted->commands.reset();
      wanted->device_times |= column.ends_with("_ns");
      for (const auto& [instant, field] : kInstants) {
        if (column.starts_with(instant)) wanted->placed.push_back(field);
      }
    }
    if (!wanted->commands) continue;
    wanted->commands->insert(wanted->commands->end(), fields.begin(), fields.end());
  }
}

// Returns what tables of events need.
std::optional<model::Wanted> WantedOf(const Reads& reads) {
  model::Wanted wanted;
  wanted.api = wanted.ranges = wanted.host = wanted.jobs = wanted.device_times = false;
  // Identify a command and show if it is valid.
  wanted.commands = {CommandBatch::kFetchedTicksDeltaFieldNumber,
                     CommandBatch::kRecordDeltaFieldNumber, CommandBatch::kUnitFieldNumber,
                     CommandBatch::kJobFieldNumber, CommandBatch::kIndexFieldNumber};
  bool any = false;
  wanted.by_job = false;
  for (const auto& [table, columns] : reads) {
    const bool of_rows = table != "devices" && table != "processes";
    any |= of_rows;
    wanted.by_job |= of_rows && table != "ranges";
    wanted.api |= table == "api";
    wanted.ranges |= table == "ranges";
    wanted.host |= table == "host_events";
    wanted.device_times |= table == "device_events" || table == "counters";
    if (table == "jobs") WantJobs(columns, &wanted);
    if (table == "commands") WantCommands(columns, &wanted);
  }
  if (!any) return std::nullopt;
  if (wanted.device_times) wanted.AddDeviceTimes();
  return wanted;
}

// Returns true if all columns of commands are read, which includes those of stalls.
bool ReadsAll(const Reads& reads, const std::vector<const PlainTable*>& tables) {
  const auto read = reads.find("commands");
  if (read == reads.end()) return false;
  return std::all_of(tables.begin(), tables.end(), [&](const PlainTable* table) {
    return table->name != "commands" || read->second.size() >= table->columns.size();
  });
}

}  // namespace

Needs NeedsOf(std::string_view sql) {
  // Only the columns of stalls depend on the trace, and they are not accepted here.
  const model::Model nothing;
  Limits limits;
  limits.steps = kSteps;
  const auto database = Database::Open(nothing, limits);
  if (!database.ok()) return {};
  const std::optional<Reads> reads = (*database)->ReadsOf(sql);
  if (!reads) return {};
  Needs needs;
  needs.events = std::all_of(reads->begin(), reads->end(), [](const auto& table) {
    return std::find(std::begin(kEventTables), std::end(kEventTables), table.first) !=
           std::end(kEventTables);
  });
  needs.command_fields = CommandFieldsOf(*reads);
  needs.calls_only = reads->size() == 1 && reads->begin()->first == "api";
  needs.reads = *reads;
  if (needs.events && !ReadsAll(*reads, (*database)->Tables())) {
    needs.wanted = WantedOf(*reads);
  }
  if (needs.events) needs.times = TimesOf(sql, *reads, database->get());
  return needs;
}

}  // namespace acceltrace::query
