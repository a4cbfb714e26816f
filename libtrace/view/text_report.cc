// SPDX-License-Identifier: Apache-2.0
//
// The first half of the report: what was recorded, and where its time went.
#include <fmt/format.h>

#include <algorithm>

#include "libtrace/view/format.h"
#include "libtrace/view/text.h"

namespace acceltrace::view {
namespace text {

using analysis::Report;
using Align = Table::Align;

namespace {

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::string LinkText(const proto::Pci& pci) {
  if (pci.link_speed() == 0 || pci.link_width() == 0) return "link unknown";
  std::string text = fmt::format("PCIe gen {} x{}", pci.link_speed(), pci.link_width());
  if (pci.link_speed() < pci.link_speed_max() || pci.link_width() < pci.link_width_max()) {
    text += fmt::format(" (of gen {} x{})", pci.link_speed_max(), pci.link_width_max());
  }
  return text;
}

}  // namespace

std::string Heading(const Report& report, const Style& style) {
  const model::Model& model = *report.model;
  std::string out = Paint(style, Ink::kBold, "acceltrace report") + "\n";
  Table table({{"", Align::kLeft}, {"", Align::kLeft}});
  const proto::TraceInfo& info = model.info;
  if (model.has_info) {
    const std::string command = Joined(info.command());
    if (!command.empty()) table.Add({"command", command});
    table.Add({"recorded",
               fmt::format("{} on {}, {}, {} CPU{}",
                           FormatUtc(info.start_ns() + info.realtime_offset_ns()), info.host(),
                           info.kernel(), info.num_cpus(), info.num_cpus() == 1 ? "" : "s")});
  }
  if (model.has_accounts) {
    // Of a flight recorder: of what it held.
    const int64_t from_ns = std::max(info.start_ns(), model.accounts.whole_since_ns());
    std::string length = "unknown";
    if (model.accounts.stop_ns() > 0) length = FormatNs(model.accounts.stop_ns() - from_ns);
    if (model.accounts.overwritten_rows() > 0) {
      length += fmt::format(" of {}, {} older events were overwritten",
                            FormatNs(model.accounts.stop_ns() - info.start_ns()),
                            FormatCount(model.accounts.overwritten_rows()));
    }
    if (model.accounts.command_status() >= 0) {
      length += fmt::format(", command's exit status {}", model.accounts.command_status());
    }
    table.Add({"length", length});
  } else {
    table.Add({"length", "unknown: the recording did not end in good order"});
  }
  for (const model::Device& device : model.devices) {
    const proto::Device& about = device.about;
    std::string text =
        fmt::format("{} at {}, {}", about.model(), about.pci().address(), LinkText(about.pci()));
    if (about.memory_bytes() > 0) text += ", " + FormatBytes(about.memory_bytes());
    table.Add({about.name(), text});
  }
  if (model.cut.any()) {
    table.Add({"selected", fmt::format("{}: {} of {} rows; checks and losses are the whole trace's",
                                       model.cut.text, FormatCount(model.cut.rows),
                                       FormatCount(model.cut.of))});
  }
  const analysis::Counts& counts = report.counts;
  table.Add({"events",
             fmt::format("{} API calls, {} jobs, {} commands, {} host events, {} counter samples",
                         FormatCount(counts.api_calls), FormatCount(counts.jobs),
                         FormatCount(counts.commands), FormatCount(counts.host_events),
                         FormatCount(counts.counter_samples))});
  if (counts.api_failed + counts.jobs_failed + counts.commands_failed > 0) {
    table.Add({"failed", fmt::format("{} API calls, {} jobs, {} commands", counts.api_failed,
                                     counts.jobs_failed, counts.commands_failed)});
  }
  return out + table.Render(style);
}

// A class less what the tracer did in it, where it did anything.
static std::string Without(const analysis::Span& span, const analysis::Span& tracer) {
  if (tracer.hi_ns == 0) return "";
  return FormatSpan(analysis::Span{std::max<int64_t>(0, span.lo_ns - tracer.hi_ns),
                                   std::max<int64_t>(0, span.mid_ns - tracer.mid_ns),
                                   std::max<int64_t>(0, span.hi_ns - tracer.lo_ns)});
}

std::string Breakdown(const Report& report, const Style& style) {
  const analysis::Breakdown& breakdown = report.breakdown;
  std::string out = view::Heading(style, "VERDICT");
  std::string verdict = report.verdict.text;
  if (!verdict.empty()) verdict[0] = static_cast<char>(std::toupper(verdict[0]));
  out += Wrapped(style, Printable(verdict) + ".", 2);
  constexpr size_t kInTheSentence = 2;
  for (size_t i = kInTheSentence; i < report.verdict.caveats.size(); ++i) {
    const analysis::Caveat& caveat = report.verdict.caveats[i];
    out += Wrapped(style, Printable(caveat.kind + ": " + caveat.text), 4);
  }
  if (breakdown.RunNs() <= 0) return out;
  out += ToChange(report, style);
  out += view::Heading(
      style, "WHERE THE TIME WENT",
      fmt::format("{} from the first submitting call to the last return; each instant "
                  "counts once",
                  FormatSpan(breakdown.run)));
  const analysis::Overhead& cost = report.overhead;
  std::vector<Table::Column> columns = {{"", Align::kLeft}, {"", Align::kLeft}, {""}, {""}};
  if (cost.calibrated) columns.push_back({"without the tracer"});
  Table table(columns);
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    const analysis::Span& span = breakdown.time[c];
    if (span.hi_ns == 0) continue;
    const analysis::Ratio share = breakdown.Share(span);
    std::vector<std::string> row = {analysis::ClassText(static_cast<analysis::Class>(c)),
                                    Bar(share.mid, 30), FormatShare(share), FormatSpan(span)};
    if (cost.calibrated) row.push_back(Without(span, cost.in_class[c]));
    table.Add(std::move(row));
  }
  out += table.Render(style);
  if (cost.calibrated) {
    out += fmt::format("  the tracer made the run {} longer ({} of it)\n", FormatSpan(cost.run),
                       FormatShare(cost.share));
  }
  if (breakdown.overlap.hi_ns > 0 || breakdown.gaps > 0) {
    std::string line =
        fmt::format("  transfers and computing at once: {}; ", FormatSpan(breakdown.overlap));
    line += breakdown.gaps == 0
                ? "no gap in which nothing ran"
                : fmt::format("{}{} gaps in which nothing ran: {} in all, {} the longest",
                              breakdown.gaps_hi > breakdown.gaps_lo ? "about " : "",
                              FormatCount(breakdown.gaps), FormatSpan(breakdown.gap_total),
                              FormatSpan(breakdown.gap_longest));
    out += line + "\n";
  }
  std::string aside;
  if (breakdown.before_ns + breakdown.after_ns > 0) {
    aside = fmt::format("not counted: {} before it, {} after it", FormatNs(breakdown.before_ns),
                        FormatNs(breakdown.after_ns));
  }
  if (!cost.calibrated && cost.probe_ns > 0) {
    aside += fmt::format("{}the tracer's probes took {} of the host's time in all",
                         aside.empty() ? "" : "; ", FormatNs(static_cast<int64_t>(cost.probe_ns)));
  }
  if (!aside.empty()) out += Paint(style, Ink::kDim, "  " + aside) + "\n";
  return out;
}

std::string Utilisation(const Report& report, const Style& style) {
  std::string out;
  for (const analysis::DeviceUse& use : report.utilisation) {
    const model::Device& device = report.model->devices[use.device];
    out +=
        view::Heading(style, "UTILISATION " + Printable(device.about.name()),
                      fmt::format("{} from first fetch to last completion; █ busy ▒ stalled · idle",
                                  FormatSpan(use.window)));
    Table table({{"unit", Align::kLeft},
                 {"", Align::kLeft},
                 {"busy"},
                 {"stalled"},
                 {"idle"},
                 {"commands"},
                 {"most stalled by", Align::kLeft},
                 {"rate while busy"},
                 {"of peak, while busy"}});
    for (const analysis::UnitUse& unit : use.units) {
      const auto most = std::max_element(unit.stall_ticks.begin(), unit.stall_ticks.end());
      std::string cause;
      if (most != unit.stall_ticks.end() && *most > 0) {
        const int index = static_cast<int>(most - unit.stall_ticks.begin());
        cause = fmt::format("{} {}", device.about.stalls(index),
                            FormatShare(unit.stall_shares[static_cast<size_t>(index)]));
      }
      std::string rate, peak;
      if (unit.work > 0 && !device.IsDma(unit.unit)) {
        rate = FormatRate(unit.work_per_s, unit.work_unit);
        if (unit.peak_work_per_s > 0) peak = FormatShare(unit.peak_share);
      }
      table.Add({unit.name, Bar2(unit.busy_share.mid, unit.stalled_share.mid, 24),
                 FormatShare(unit.busy_share), FormatShare(unit.stalled_share),
                 FormatShare(unit.idle_share), FormatCount(unit.commands), cause, rate, peak});
    }
    out += table.Render(style);
  }
  return out;
}

std::string Latency(const Report& report, const Style& style) {
  const analysis::Latency& latency = report.latency;
  if (latency.jobs == 0) return "";
  std::string out = view::Heading(
      style, "LATENCY",
      fmt::format("{} jobs, {} seen on both sides from submit to completion; {} waited for, "
                  "{} of them before they were done",
                  FormatCount(latency.jobs), FormatCount(latency.whole), FormatCount(latency.waits),
                  FormatCount(latency.blocked)));
  Table table(
      {{"stage", Align::kLeft}, {"n"}, {"p50"}, {"p99"}, {"max"}, {"mean"}, {"", Align::kLeft}});
  const double whole = static_cast<double>(latency.end_to_end.mean.mid_ns);
  const auto add = [&](const std::string& name, const analysis::Stats& stats, bool bar) {
    if (stats.count == 0) return;
    const double share = whole <= 0 ? 0 : static_cast<double>(stats.mean.mid_ns) / whole;
    table.Add({name, FormatCount(stats.count), FormatSpan(stats.p50), FormatSpan(stats.p99),
               FormatSpan(stats.max), FormatSpan(stats.mean), bar ? Bar(share, 12) : ""});
  };
  for (const analysis::Stage& stage : latency.stages) add(stage.text, stage.stats, true);
  add("API call to completion consumed", latency.end_to_end, false);
  add("API call to the waiter's return", latency.until_returned, false);
  return out + table.Render(style);
}

}  // namespace text

std::string TextReport(const analysis::Report& report, const Style& style) {
  std::string out;
  for (auto* section : {text::Heading, text::Breakdown, text::Help, text::Utilisation,
                        text::Latency, text::Calls, text::Transfers, text::Memory, text::Ops,
                        text::Ranges, text::Clocks, text::Losses, text::Checks, text::Tracer}) {
    out += section(report, style);
  }
  return out;
}

}  // namespace acceltrace::view
