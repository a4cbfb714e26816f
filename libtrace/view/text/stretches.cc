// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/stretches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {
namespace {

using analysis::Class;
using analysis::Stretches;
using Align = Table::Align;
using Json = nlohmann::ordered_json;

constexpr size_t kMostAdvice = 3;
constexpr double kWorthALine = 5e-4;

std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return Printable(text) + ".";
}

std::string FirstLine(const Stretches& stretches, const analysis::Summary& summary) {
  std::string out = "acceltrace report: ";
  out += summary.command.empty() ? "a recording" : Shortened(summary.command, 40);
  out += ", " + FormatNs(static_cast<int64_t>(stretches.run_ns));
  for (size_t d = 0; d < std::min<size_t>(2, stretches.devices.size()); ++d) {
    out += (d == 0 ? " on " : ", ") + stretches.devices[d];
  }
  if (stretches.devices.size() > 2)
    out += fmt::format(" and {} more", stretches.devices.size() - 2);
  return Printable(out) + "\n";
}

std::string Classes(const Stretches& stretches, const Style& style) {
  std::string out = Heading(style, "WHERE THE TIME WENT", "estimated, with 95 % intervals");
  Table table({{"", Align::kLeft}, {"", Align::kLeft, false, 1}, {""}, {"", Align::kLeft}});
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    const analysis::Ratio& share = stretches.classes[c];
    if (!stretches.seen[c] || share.hi < kWorthALine) continue;
    table.Add({analysis::ClassText(static_cast<Class>(c)),
               Bar(share.mid, style.width < 120 ? 16 : 30),
               fmt::format("{:.1f} %", 100 * share.mid),
               fmt::format("{:.1f} to {:.1f} %", 100 * share.lo, 100 * share.hi)});
  }
  out += table.Render(style);
  if (stretches.calibrated) {
    out += fmt::format("  the tracer made it {} longer\n", FormatShare(stretches.tracer));
  }
  return out;
}

std::string Changes(const Stretches& stretches, const Style& style) {
  if (stretches.advice.empty()) return "";
  std::string out = Heading(style, "WHAT TO CHANGE",
                            "and what it would save at most, of the run without the tracer");
  for (size_t i = 0; i < std::min(kMostAdvice, stretches.advice.size()); ++i) {
    const Stretches::Change& change = stretches.advice[i];
    out += Wrapped(style,
                   Printable(fmt::format("{}. {:.1f} % ({:.1f} to {:.1f} %), in {} of {} "
                                         "stretches: {}",
                                         i + 1, 100 * change.share.mid, 100 * change.share.lo,
                                         100 * change.share.hi, change.in, stretches.each.size(),
                                         Sentence(change.change))),
                   2);
  }
  return out;
}

std::string Busiest(const analysis::Summary& summary) {
  std::string out;
  for (size_t i = 0; i < summary.units.size() && i < 4; ++i) {
    const analysis::Summary::Unit& unit = summary.units[i];
    out += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", unit.device, unit.unit,
                       FormatShare(unit.busy_share));
  }
  return Printable(out);
}

Json JsonRatio(const analysis::Ratio& ratio) {
  const auto rounded = [](double share) { return std::round(share * 1e6) / 1e6; };
  return {{"lo", rounded(ratio.lo)}, {"mid", rounded(ratio.mid)}, {"hi", rounded(ratio.hi)}};
}

Json JsonEach(const Stretches& stretches) {
  Json each = Json::array();
  for (const Stretches::One& one : stretches.each) {
    each.push_back({{"from_ns", one.from_ns},
                    {"to_ns", one.to_ns},
                    {"events", one.events},
                    {"stands_for_ns", std::round(one.weight)},
                    {"largest", analysis::ClassName(one.largest)},
                    {"withheld", one.withheld},
                    {"limiter", one.limiter},
                    {"confidence", one.confidence}});
  }
  return each;
}

}  // namespace

std::string TextStretches(const Stretches& stretches, const analysis::Summary& summary,
                          const Style& style) {
  std::string out = FirstLine(stretches, summary);
  const double part = stretches.events == 0 ? 0
                                            : static_cast<double>(stretches.read) /
                                                  static_cast<double>(stretches.events);
  out += fmt::format("by {}, {:.{}f} % of its {} events\n",
                     Counted(stretches.each.size(), "stretch", "stretches"), 100 * part,
                     part < 0.01 ? 2 : 1, FormatCount(stretches.events));
  out += Heading(style, "VERDICT");
  std::string verdict = stretches.text;
  if (!stretches.caveats.empty()) {
    verdict += "; " + analysis::CaveatsText(stretches.caveats);
  }
  out += Wrapped(style, Sentence(verdict), 2);
  out += Changes(stretches, style) + Classes(stretches, style);
  Table table({{"", Align::kLeft}, {"", Align::kLeft, true}});
  if (stretches.latency.count > 0) {
    table.Add(
        {"submit to done",
         fmt::format("median {}, p99 {}, longest {} ({} jobs)", FormatSpan(stretches.latency.p50),
                     FormatSpan(stretches.latency.p99), FormatSpan(stretches.latency.max),
                     FormatCount(stretches.latency.count))});
  }
  if (!summary.units.empty()) table.Add({"busiest units", Busiest(summary)});
  if (summary.lost + summary.bad > 0) {
    table.Add({"lost", fmt::format("{} events, {} refused", FormatCount(summary.lost),
                                   FormatCount(summary.bad))});
  }
  if (!table.empty()) out += "\n" + table.Render(style);
  out += "\nOf all events: --all, --full, --json; of a part: --from TIME --to TIME.\n";
  return Fitted(style, out);
}

std::string JsonStretches(const Stretches& stretches, const analysis::Summary& summary) {
  Json classes = Json::object(), gains = Json::array(), advice = Json::array();
  Json caveats = Json::array();
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    classes[analysis::ClassName(static_cast<Class>(c))] = JsonRatio(stretches.classes[c]);
  }
  for (const Stretches::Gain& gain : stretches.gains) {
    gains.push_back({{"resource", analysis::ResourceKey(gain.resource)},
                     {"share", JsonRatio(gain.share)},
                     {"first_in", gain.first}});
  }
  for (const Stretches::Change& change : stretches.advice) {
    advice.push_back({{"kind", change.kind},
                      {"change", change.change},
                      {"text", change.text},
                      {"share", JsonRatio(change.share)},
                      {"in", change.in}});
  }
  for (const analysis::Caveat& caveat : stretches.caveats) {
    caveats.push_back({{"kind", caveat.kind}, {"text", caveat.text}, {"fault", caveat.fault}});
  }
  const auto exact = [](const analysis::Span& span) { return span.mid_ns; };
  Json json = {{"schema", "acceltrace.stretches"},
               {"version", 1},
               {"command", summary.command},
               {"events", stretches.events},
               {"events_read", stretches.read},
               {"length_ns", std::round(stretches.run_ns)},
               {"verdict",
                {{"text", stretches.text}, {"withheld", stretches.withheld}, {"caveats", caveats}}},
               {"gains", gains},
               {"advice", advice},
               {"time", classes},
               {"tracer", stretches.calibrated ? JsonRatio(stretches.tracer) : Json()},
               {"latency",
                {{"jobs", stretches.latency.count},
                 {"p50_ns", exact(stretches.latency.p50)},
                 {"p99_ns", exact(stretches.latency.p99)},
                 {"max_ns", exact(stretches.latency.max)}}},
               {"lost", summary.lost},
               {"bad", summary.bad},
               {"stretches", JsonEach(stretches)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace acceltrace::view
