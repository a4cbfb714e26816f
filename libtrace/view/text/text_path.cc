// SPDX-License-Identifier: Apache-2.0
//
// The report's sections on the critical path, what-if, and what would help.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/path.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view {
namespace {

using analysis::CriticalPath;
using analysis::PathShare;
using Align = Table::Align;

constexpr size_t kMaxRows = 20;
constexpr size_t kMaxAdvice = 5, kMaxNames = 4;

std::string Ns(double ns) { return FormatNs(std::llround(ns)); }
std::string Less(double from_ns, double to_ns) {
  if (from_ns <= 0) return "";
  const double share = (from_ns - to_ns) / from_ns;
  return fmt::format("{:.1f} % {}", 100 * std::abs(share), share >= 0 ? "less" : "more");
}

std::string Shares(const std::vector<PathShare>& shares, double run_ns, const char* title,
                   const Style& style) {
  if (shares.empty()) return "";
  Table table({{title, Align::kLeft, true},
               {"where", Align::kLeft},
               {"times"},
               {"time"},
               {"of the run"},
               {"", Align::kLeft}});
  for (size_t i = 0; i < std::min(kMaxRows, shares.size()); ++i) {
    const PathShare& share = shares[i];
    table.Add({Printable(share.name), Printable(share.where), FormatCount(share.count),
               Ns(share.ns), FormatShare(share.ns / run_ns), Bar(share.ns / run_ns, 20)});
  }
  std::string out = table.Render(style);
  if (shares.size() > kMaxRows) out += fmt::format("  and {} more\n", shares.size() - kMaxRows);
  return out;
}

}  // namespace

std::string TextCriticalPath(const CriticalPath& path, const Style& style) {
  std::string out = Paint(style, Ink::kBold, "acceltrace critical-path") + "\n";
  if (!path.valid) return out + Wrapped(style, "No answer: " + Printable(path.error) + ".", 2);
  out += fmt::format("  {} of {} events lie on the chain that set the run's {}\n",
                     FormatCount(path.on_path), FormatCount(path.nodes), Ns(path.run_ns));
  out += Heading(style, "BY CAUSE", "what the chain's time was spent on; adds up to the run");
  out += Shares(path.causes, path.run_ns, "cause", style);
  if (!path.ops.empty()) out += Heading(style, "BY OP", "commands on the chain");
  out += Shares(path.ops, path.run_ns, "op", style);
  if (!path.layers.empty())
    out += Heading(style, "BY LAYER", "the same, by the first part of the name");
  out += Shares(path.layers, path.run_ns, "layer", style);
  if (!path.calls.empty()) out += Heading(style, "BY API CALL", "time of the host on the chain");
  out += Shares(path.calls, path.run_ns, "call", style);
  if (path.slack.empty()) return out;
  out += Heading(style, "SLACK", "how much later an op could have ended without a longer run");
  Table table({{"op", Align::kLeft, true},
               {"unit", Align::kLeft},
               {"commands"},
               {"on the chain"},
               {"least"},
               {"mean"}});
  for (size_t i = 0; i < std::min(kMaxRows, path.slack.size()); ++i) {
    const analysis::OpSlack& op = path.slack[i];
    table.Add({Printable(op.op), Printable(op.unit), FormatCount(op.count),
               FormatCount(op.critical), Ns(op.least_ns), Ns(op.mean_ns)});
  }
  out += table.Render(style);
  if (path.slack.size() > kMaxRows) {
    out += fmt::format("  and {} more\n", path.slack.size() - kMaxRows);
  }
  return out;
}

std::string TextWhatIf(const WhatIf& whatif, const Style& style) {
  std::string out = Paint(style, Ink::kBold, "acceltrace whatif") + "\n";
  const analysis::Prediction& prediction = whatif.prediction;
  if (!whatif.refused.empty()) {
    return out + Wrapped(style, "No answer: " + Printable(whatif.refused) + ".", 2);
  }
  Table table({{"", Align::kLeft}, {"", Align::kLeft}});
  table.Add({"recorded", Ns(prediction.recorded_ns)});
  table.Add(
      {"replayed as it was", fmt::format("{} ({:+.2f} %)", Ns(prediction.base_ns),
                                         100 * (prediction.base_ns / prediction.recorded_ns - 1))});
  if (!whatif.change.empty()) {
    table.Add({"change", whatif.change});
    table.Add({"predicted",
               fmt::format("{} ({} to {}), {}", Ns(prediction.ns), Ns(prediction.lo_ns),
                           Ns(prediction.hi_ns), Less(prediction.recorded_ns, prediction.ns))});
  }
  out += table.Render(style);
  if (whatif.change.empty()) out += Gains(whatif.limiter, style);
  return out;
}

std::string Gains(const analysis::Limiter& limiter, const Style& style) {
  std::string out =
      view::Heading(style, "WHAT WOULD HELP",
                    fmt::format("each by itself {:g} times as fast, of the run without the tracer",
                                analysis::Limiter::kStep));
  std::string text = limiter.text;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  out += Wrapped(style, Printable(text) + ".", 2);
  if (limiter.gains.empty()) return out;
  Table table({{"", Align::kLeft, true},
               {"--set", Align::kLeft},
               {"saves"},
               {"of the run"},
               {"from"},
               {"to"}});
  for (const analysis::ResourceGain& gain : limiter.gains) {
    if (gain.share < 1e-3 && gain.hi_share < 1e-2) continue;
    table.Add({analysis::ResourceName(gain.resource), analysis::ResourceKey(gain.resource),
               Ns(gain.gain_ns), FormatShare(gain.share), FormatShare(gain.lo_share),
               FormatShare(gain.hi_share)});
  }
  return out + table.Render(style);
}

std::string text::ToChange(const analysis::Report& report, const Style& style) {
  if (report.advice.empty()) return "";
  std::string out =
      view::Heading(style, "WHAT TO CHANGE",
                    "and what it would save at most, by the graph of the run without the tracer");
  size_t number = 0;
  for (const analysis::Advice& advice : report.advice) {
    if (++number > kMaxAdvice) break;
    out +=
        fmt::format("  {}. {} of the run ({} to {}), {}\n", number, FormatShare(advice.share),
                    FormatShare(advice.lo_share), FormatShare(advice.hi_share), Ns(advice.gain_ns));
    std::string where;
    const auto add = [&where](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      where += fmt::format("{}{} {}", where.empty() ? "" : "; ", what, names[0]);
      for (size_t i = 1; i < std::min(kMaxNames, names.size()); ++i) where += ", " + names[i];
      if (names.size() > kMaxNames) where += ", ...";
    };
    add("ops", advice.ops), add("in", advice.calls), add("within", advice.ranges);
    std::string text = advice.text;
    text[0] = static_cast<char>(std::toupper(text[0]));
    out += Wrapped(
        style,
        Printable(text + (where.empty() ? "" : " (" + where + ")") + ": " + advice.change + "."),
        5);
  }
  if (report.advice.size() > kMaxAdvice) {
    out += fmt::format("  and {} more, see --json\n", report.advice.size() - kMaxAdvice);
  }
  return out;
}

std::string text::Changes(const analysis::Report& report, const Style& style, size_t lines) {
  if (report.advice.empty()) return "";
  const std::string head =
      Fitted(style, view::Heading(style, "WHAT TO CHANGE",
                                  "and what it would save at most, of the run without the tracer"));
  std::string out = head;
  size_t number = 0;
  for (const analysis::Advice& advice : report.advice) {
    if (++number > kMaxAdvice) break;
    std::string text = advice.text;
    text[0] = static_cast<char>(std::toupper(text[0]));
    const std::string one =
        Fitted(style, Printable(fmt::format("  {}. {} ({} to {}): {}: {}.", number,
                                            FormatShare(advice.share), FormatShare(advice.lo_share),
                                            FormatShare(advice.hi_share), text, advice.change)) +
                          "\n");
    const std::string with = out + one;
    if (number > 1 && static_cast<size_t>(std::count(with.begin(), with.end(), '\n')) > lines)
      break;
    out = with;
  }
  return out;
}

std::string text::Help(const analysis::Report& report, const Style& style) {
  return report.breakdown.RunNs() <= 0 ? "" : Gains(report.limiter, style);
}

}  // namespace acceltrace::view
