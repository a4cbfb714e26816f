// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/needs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

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
  const auto database = Database::Open(nothing, {});
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
  return needs;
}

}  // namespace acceltrace::query
