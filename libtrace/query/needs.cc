// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/needs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "libtrace/query/grouping.h"

namespace acceltrace::query {
namespace {

using proto::CommandBatch;

constexpr std::string_view kEventTables[] = {"api",      "ranges",   "host_events",
                                             "jobs",     "commands", "device_events",
                                             "counters", "devices",  "processes"};

// Those that depend on no clock and on no other table. `op` comes with each.
constexpr std::pair<std::string_view, uint32_t> kPlainColumns[] = {
    {"device", CommandBatch::kDeviceFieldNumber},
    {"job", CommandBatch::kJobFieldNumber},
    {"index", CommandBatch::kIndexFieldNumber},
    {"context", CommandBatch::kContextFieldNumber},
    {"queue", CommandBatch::kQueueFieldNumber},
    {"correlation", CommandBatch::kCorrelationDeltaFieldNumber},
    {"unit", CommandBatch::kUnitFieldNumber},
    {"opcode", CommandBatch::kOpcodeFieldNumber},
    {"op", CommandBatch::kTagFieldNumber},
    {"tag", CommandBatch::kTagFieldNumber},
    {"status", CommandBatch::kStatusFieldNumber},
    {"limiter", CommandBatch::kLimiterFieldNumber},
    {"work", CommandBatch::kWorkFieldNumber},
    {"bytes", CommandBatch::kBytesFieldNumber},
    {"memory_bytes", CommandBatch::kMemoryBytesFieldNumber},
    {"row_hits", CommandBatch::kRowHitsFieldNumber},
    {"row_misses", CommandBatch::kRowMissesFieldNumber},
    {"", CommandBatch::kDeviceFieldNumber},  // its rows, for count(*)
};

// Instants of the rows of a table, which lie in the row's own time.
constexpr std::pair<std::string_view, std::string_view> kTimes[] = {
    {"api", "begin_ns"},       {"api", "end_ns"},          {"ranges", "begin_ns"},
    {"ranges", "end_ns"},      {"host_events", "time_ns"}, {"jobs", "submit_ns"},
    {"jobs", "doorbell_ns"},   {"jobs", "submit_end_ns"},  {"jobs", "device_doorbell_ns"},
    {"jobs", "fetched_ns"},    {"jobs", "first_start_ns"}, {"jobs", "last_end_ns"},
    {"jobs", "completion_ns"}, {"commands", "fetched_ns"}, {"commands", "head_ns"},
    {"commands", "start_ns"},  {"commands", "end_ns"},     {"device_events", "time_ns"},
};
// What a device's clock may say otherwise where it is fitted to a part, and much more.
constexpr int64_t kMarginNs = 1'000'000;
// Of a query through tables without rows.
constexpr uint64_t kSteps = 100'000;

std::optional<Times> TimesOf(std::string_view sql, const Reads& reads, Database* database) {
  // A row's number is its place in the whole.
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

// Ticks of an instant, which is so long after the one before it.
constexpr std::pair<std::string_view, uint32_t> kInstants[] = {
    {"fetched", CommandBatch::kFetchedTicksDeltaFieldNumber},
    {"head", CommandBatch::kHeadTicksAfterFieldNumber},
    {"start", CommandBatch::kStartTicksAfterFieldNumber},
    {"end", CommandBatch::kEndTicksAfterFieldNumber},
};

// False: it is none of these.
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
      const auto found = std::find_if(std::begin(kPlainColumns), std::end(kPlainColumns),
                                      [&](const auto& plain) { return plain.first == column; });
      if (found != std::end(kPlainColumns)) {
        fields.push_back(found->second);
      } else if (!AddTicks(column, &fields)) {
        return std::nullopt;
      }
    }
  }
  if (reads.empty()) return std::nullopt;
  return fields;
}

}  // namespace

Needs NeedsOf(std::string_view sql) {
  // Which columns there are depends on the trace for stalls alone, which are none of these.
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
  needs.sums = Grouping::Parse(sql).has_value();
  needs.calls_only = reads->size() == 1 && reads->begin()->first == "api";
  needs.reads = *reads;
  if (needs.events) needs.times = TimesOf(sql, *reads, database->get());
  return needs;
}

}  // namespace acceltrace::query
