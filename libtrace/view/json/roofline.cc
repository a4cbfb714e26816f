// SPDX-License-Identifier: Apache-2.0
//
// The report's section on what the device could do at best, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/json/json_parts.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view {
namespace {

using analysis::Report;
using analysis::RoofUse;
using Align = Table::Align;

std::string CountedAs(const std::string& counts) { return counts == "bytes" ? "B" : counts; }

std::string CeilingsText(const std::vector<analysis::Ceiling>& ceilings) {
  std::string text;
  bool measured = false;
  for (const analysis::Ceiling& ceiling : ceilings) {
    text +=
        fmt::format("{}{} {}{}", text.empty() ? "ceilings: " : ", ", Printable(ceiling.resource),
                    FormatRate(ceiling.per_s, CountedAs(ceiling.counts)),
                    ceiling.measured ? " (measured)" : "");
    measured = measured || ceiling.measured;
  }
  if (text.empty()) return "no ceiling is known: the device names none";
  return text + (measured ? "" : "; by the device's own figures, --ceilings takes measured ones");
}

const char* CountsOf(const analysis::DeviceRoofline& roofline, const std::string& resource) {
  for (const analysis::Ceiling& ceiling : roofline.ceilings) {
    if (ceiling.resource == resource) return ceiling.counts.c_str();
  }
  return "";
}

void AddRows(const analysis::DeviceRoofline& roofline, const std::vector<RoofUse>& uses,
             size_t most, Table* table) {
  for (size_t i = 0; i < std::min(most, uses.size()); ++i) {
    const RoofUse& use = uses[i];
    const bool amount = use.work > 0 || use.bytes > 0;
    table->Add({use.name, use.unit, use.intensity > 0 ? fmt::format("{:.3g}", use.intensity) : "-",
                amount ? FormatRate(use.per_s, CountedAs(CountsOf(roofline, use.unit))) : "-",
                use.roof.empty() ? "-" : use.roof, use.roof.empty() ? "" : FormatShare(use.of_roof),
                use.roof.empty() ? "" : Bar(std::min(1.0, use.of_roof.mid), 12)});
  }
}

Json UseJson(const RoofUse& use, const char* key) {
  Json json = {{key, use.name},
               {"unit", use.unit},
               {"commands", use.commands},
               {"work", use.work},
               {"bytes", use.bytes},
               {"memory_bytes", use.memory_bytes},
               {"time", SpanJson(use.time)},
               {"intensity", use.intensity > 0 ? Json(use.intensity) : Json()},
               {"roof", use.roof.empty() ? Json() : Json(use.roof)},
               {"roof_ns", use.roof.empty() ? Json() : Json(std::round(use.roof_ns))},
               {"of_roof", nullptr}};
  AddRatio(&json, "per_s", use.per_s, kRateScale);
  if (!use.roof.empty()) AddRatio(&json, "of_roof", use.of_roof, kShareScale);
  return json;
}

}  // namespace

std::string text::Roofline(const Report& report, const Style& style) {
  std::string out;
  for (const analysis::DeviceRoofline& roofline : report.roofline) {
    out += view::Heading(
        style, "ROOFLINE " + Printable(report.model->devices[roofline.device].about.name()),
        "least time by work, memory and link, of the time that was taken");
    out += Wrapped(style, CeilingsText(roofline.ceilings), 2);
    const size_t most = style.rows > 0 ? style.rows : 10;
    for (const auto& [what, uses] :
         {std::pair("op", &roofline.ops), std::pair("phase (range)", &roofline.phases)}) {
      if (uses->empty()) continue;
      Table table({{what, Align::kLeft, true},
                   {"unit", Align::kLeft},
                   {"work/B", Align::kRight, false, 1},
                   {"reached"},
                   {"nearest roof", Align::kLeft},
                   {"of it"},
                   {"", Align::kLeft, false, 2}});
      AddRows(roofline, *uses, most, &table);
      out += table.Render(style);
    }
  }
  return out;
}

Json RooflineJson(const Report& report) {
  Json devices = Json::array();
  for (const analysis::DeviceRoofline& roofline : report.roofline) {
    Json ceilings = Json::array(), ops = Json::array(), phases = Json::array();
    for (const analysis::Ceiling& ceiling : roofline.ceilings) {
      ceilings.push_back({{"resource", ceiling.resource},
                          {"counts", ceiling.counts},
                          {"per_s", std::round(ceiling.per_s)},
                          {"measured", ceiling.measured}});
    }
    for (const RoofUse& use : roofline.ops) ops.push_back(UseJson(use, "op"));
    for (const RoofUse& use : roofline.phases) phases.push_back(UseJson(use, "range"));
    devices.push_back({{"device", DeviceName(report, roofline.device)},
                       {"ceilings", ceilings},
                       {"ops", ops},
                       {"phases", phases}});
  }
  return devices;
}

}  // namespace acceltrace::view
