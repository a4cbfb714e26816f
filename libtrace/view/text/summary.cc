// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {

using analysis::Summary;

namespace {

// A figure and what it refers to.
struct Part {
  std::string name, figure;
  const char* behind = ",";  // separator before the next part
};

// Adds parts on as many lines as they need. Names are shortened, but figures never are.
void AddParts(const std::vector<Part>& parts, std::string label, size_t room, Table* table) {
  std::string line;
  for (const Part& part : parts) {
    const size_t taken = DisplayWidth(part.figure) + 2;  // a space and a comma
    std::string text = part.name.empty() ? part.figure
                                         : ShortenedInside(Printable(part.name),
                                                           room > taken + 3 ? room - taken : 3) +
                                               " " + part.figure;
    if (&part != &parts.back() && DisplayWidth(text) < room) text += part.behind;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(text) > room) {
      table->Add({std::move(label), std::move(line)});
      label.clear(), line.clear();
    }
    line += (line.empty() ? "" : " ") + text;
  }
  table->Add({std::move(label), std::move(line)});
}

// Returns the number of columns next to the labels.
size_t RoomOf(const Summary& summary, const Style& style) {
  size_t label = std::string_view("busiest unit").size();
  for (const auto& [kind, count] : summary.tables) {
    if (count > 0) label = std::max(label, DisplayWidth(Printable(kind)) + 2);
  }
  const auto width = static_cast<size_t>(std::max(style.width, 40));
  return std::max<size_t>(width, label + 20) - label - 4;
}

}  // namespace

std::string TextSummary(const Summary& summary, const Style& style) {
  using Align = Table::Align;
  Table table({{"", Align::kLeft}, {"", Align::kLeft, true}});
  if (!summary.command.empty()) table.Add({"command", summary.command});
  table.Add({"length", summary.length_ns ? FormatNs(*summary.length_ns) : "unknown"});
  const size_t room = RoomOf(summary, style);
  AddParts({{"", FormatBytes(summary.bytes)},
            {"", FormatCount(summary.packets) + " packets"},
            {"", FormatCount(summary.events) + " events"}},
           "file", room, &table);
  for (const auto& [kind, count] : summary.tables) {
    if (count > 0) table.Add({"  " + kind, FormatCount(count)});
  }
  if (summary.units.empty()) {
    table.Add({"busiest unit", "unknown: the trace holds no counters of units"});
  } else {
    std::vector<Part> units;
    for (size_t i = 0; i < summary.units.size() && i < 4; ++i) {
      const Summary::Unit& unit = summary.units[i];
      units.push_back({unit.device + " " + unit.unit, FormatShare(unit.busy_share)});
    }
    units.back().behind = "";
    units.push_back({"", "of the time"});
    AddParts(units, "busiest unit", room, &table);
  }
  std::vector<Part> losses = {{"", "none"}};
  if (summary.lost + summary.bad > 0) {
    losses = {{"", FormatCount(summary.lost) + " events lost"},
              {"", FormatCount(summary.bad) + " refused"}};
    for (const auto& [hop, count] : summary.losing) losses.push_back({hop, FormatCount(count)});
  }
  AddParts(losses, "losses", room, &table);
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
