// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "libtrace/view/format.h"

namespace acceltrace::view {

using analysis::Summary;

std::string TextSummary(const Summary& summary, const Style& style) {
  using Align = Table::Align;
  Table table({{"", Align::kLeft}, {"", Align::kLeft, true}});
  if (!summary.command.empty()) table.Add({"command", summary.command});
  table.Add({"length", summary.length_ns ? FormatNs(*summary.length_ns) : "unknown"});
  table.Add({"file", fmt::format("{}, {} packets, {} events", FormatBytes(summary.bytes),
                                 FormatCount(summary.packets), FormatCount(summary.events))});
  for (const auto& [kind, count] : summary.tables) {
    if (count > 0) table.Add({"  " + kind, FormatCount(count)});
  }
  if (summary.units.empty()) {
    table.Add({"busiest unit", "unknown: the trace holds no counters of units"});
  } else {
    std::string units;
    for (size_t i = 0; i < summary.units.size() && i < 4; ++i) {
      const Summary::Unit& unit = summary.units[i];
      units += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", unit.device, unit.unit,
                           FormatShare(unit.busy_share));
    }
    table.Add({"busiest unit", units + " of the time"});
  }
  std::string losses = "none";
  if (summary.lost + summary.bad > 0) {
    losses = fmt::format("{} events lost, {} refused", FormatCount(summary.lost),
                         FormatCount(summary.bad));
    for (const auto& [hop, count] : summary.losing) losses += ", " + hop + " " + FormatCount(count);
  }
  table.Add({"losses", losses});
  std::string out = Paint(style, Ink::kBold, "acceltrace report --summary") + "\n";
  out += table.Render(style);
  return out +
         (summary.from_index
              ? "  By the file's index, its accounts and its counters; the events were not read.\n"
              : "  The whole trace was read: it has no index that could be used.\n");
}

std::string JsonSummary(const Summary& summary) {
  using Json = nlohmann::ordered_json;
  Json tables = Json::object(), hops = Json::array(), units = Json::array();
  for (const auto& [kind, count] : summary.tables) tables[kind] = count;
  for (const auto& [hop, count] : summary.losing) hops.push_back({{"hop", hop}, {"events", count}});
  for (const Summary::Unit& unit : summary.units) {
    units.push_back({{"device", unit.device},
                     {"unit", unit.unit},
                     {"busy_share", std::round(unit.busy_share * 1e6) / 1e6}});
  }
  Json json = {{"schema", "acceltrace.summary"},
               {"version", 1},
               {"command", summary.command},
               {"host", summary.host},
               {"length_ns", summary.length_ns ? Json(*summary.length_ns) : Json()},
               {"bytes", summary.bytes},
               {"packets", summary.packets},
               {"events", summary.events},
               {"tables", tables},
               {"units", units},
               {"lost", summary.lost},
               {"bad", summary.bad},
               {"losing", hops},
               {"from_index", summary.from_index}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace acceltrace::view
