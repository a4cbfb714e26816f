// SPDX-License-Identifier: Apache-2.0
//
// The first half of the report: what was recorded, and where its time went.
#include <fmt/format.h>

#include <algorithm>

#include "libtrace/base/utf8.h"
#include "libtrace/query/sources.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text.h"

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
    // For a flight recorder, the length of what it kept.
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

// Shows a class without what the tracer did in it, if it did anything.
static std::string Without(const analysis::Span& span, const analysis::Span& tracer) {
  if (tracer.hi_ns == 0) return "";
  return FormatSpan(analysis::Span{std::max<int64_t>(0, span.lo_ns - tracer.hi_ns),
                                   std::max<int64_t>(0, span.mid_ns - tracer.mid_ns),
                                   std::max<int64_t>(0, span.hi_ns - tracer.lo_ns)});
}

std::string Verdict(const Report& report, const Style& style) {
  std::string out = view::Heading(style, "VERDICT");
  std::string verdict = report.verdict.text;
  if (!verdict.empty()) verdict[0] = static_cast<char>(std::toupper(verdict[0]));
  out += Wrapped(style, Printable(verdict) + ".", 2);
  constexpr size_t kInTheSentence = 2;
  for (size_t i = kInTheSentence; i < report.verdict.caveats.size(); ++i) {
    const analysis::Caveat& caveat = report.verdict.caveats[i];
    out += Wrapped(style, Printable(caveat.kind + ": " + caveat.text), 4);
  }
  return out;
}

// The table of classes; the short answer only has those with any time.
static std::string Classes(const Report& report, const Style& style, bool all) {
  const analysis::Breakdown& breakdown = report.breakdown;
  std::string out =
      view::Heading(style, "WHERE THE TIME WENT",
                    fmt::format("{}, first submitting call to last return; each instant "
                                "counts once",
                                FormatSpan(breakdown.run)));
  const analysis::Overhead& cost = report.overhead;
  std::vector<Table::Column> columns = {
      {"", Align::kLeft}, {"", Align::kLeft, false, 1}, {""}, {""}};
  if (cost.calibrated) columns.push_back({"without the tracer", Align::kRight, false, 2});
  Table table(columns);
  for (int c = 0; c < analysis::kNumClasses; ++c) {
    const analysis::Span& span = breakdown.time[c];
    const analysis::Ratio share = breakdown.Share(span);
    constexpr double kWorthALine = 5e-4;
    if (span.hi_ns == 0 || (!all && share.hi < kWorthALine)) continue;
    std::vector<std::string> row = {analysis::ClassText(static_cast<analysis::Class>(c)),
                                    Bar(share.mid, style.width < 120 ? 16 : 30), FormatShare(share),
                                    FormatSpan(span)};
    if (cost.calibrated) row.push_back(Without(span, cost.in_class[c]));
    table.Add(std::move(row));
  }
  out += table.Render(style);
  if (cost.calibrated) {
    out += fmt::format("  the tracer made the run {} longer ({} of it)\n", FormatSpan(cost.run),
                       FormatShare(cost.share));
  }
  return out;
}

std::string Time(const Report& report, const Style& style) {
  const analysis::Breakdown& breakdown = report.breakdown;
  const analysis::Overhead& cost = report.overhead;
  if (breakdown.RunNs() <= 0) return "";
  std::string out = Classes(report, style, true);
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
    Table table({{"unit", Align::kLeft, true},
                 {"", Align::kLeft, false, 6},
                 {"busy"},
                 {"stalled"},
                 {"idle", Align::kRight, false, 4},
                 {"commands", Align::kRight, false, 5},
                 {"most stalled by", Align::kLeft, false, 2},
                 {"rate while busy", Align::kRight, false, 3},
                 {"of peak, while busy", Align::kRight, false, 1}});
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
  Table table({{"stage", Align::kLeft},
               {"n"},
               {"p50"},
               {"p99"},
               {"max", Align::kRight, false, 1},
               {"mean", Align::kRight, false, 3},
               {"", Align::kLeft, false, 4}});
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

namespace {

// One line on what ran where, and for how long.
std::string OneLine(const analysis::Report& report) {
  const model::Model& model = *report.model;
  std::string out = "acceltrace report: ";
  const std::string command = text::Joined(model.info.command());
  out += command.empty() ? "a recording" : Shortened(command, 40);
  if (report.breakdown.RunNs() > 0) out += ", a run of " + FormatSpan(report.breakdown.run);
  constexpr size_t kMost = 2;
  for (size_t d = 0; d < std::min(kMost, model.devices.size()); ++d) {
    out += (d == 0 ? " on " : ", ") + model.devices[d].about.name();
  }
  if (model.devices.size() > kMost)
    out += fmt::format(" and {} more", model.devices.size() - kMost);
  if (model.cut.any()) out += "; selected: " + model.cut.text;
  return out;
}

}  // namespace

const std::vector<Section>& Sections() {
  static const std::vector<Section> kSections = {
      {"trace", text::Heading, true},
      {"verdict", text::Verdict, true},
      {"change", text::ToChange, true},
      {"time", text::Time},
      {"help", text::Help},
      {"utilisation", text::Utilisation},
      {"latency", text::Latency},
      {"calls", text::Calls},
      {"sites", text::CallSites},
      {"transfers", text::Transfers},
      {"memory", text::Memory},
      {"ops", text::Ops},
      {"ranges", text::Ranges},
      {"phases", text::FoundPhases},
      {"roofline", text::Roofline},
      {"system", text::System},
      {"clocks", text::Clocks, true},
      {"losses", text::Losses, true},
      {"checks", text::Checks, true},
      {"tracer", text::Tracer, true},
  };
  return kSections;
}

std::string TextReport(const analysis::Report& report, const Style& style) {
  std::string out;
  for (const Section& section : Sections()) out += section.write(report, style);
  return Fitted(style, out + "\nTerms are explained in docs/glossary.md.\n");
}

namespace {

// Explains an empty section by the sources that were not recorded.
std::string Nothing(const analysis::Report& report, std::string_view section) {
  std::string out = fmt::format("\n{}: the trace has nothing of it\n", section);
  for (const query::AbsentSource& source : query::AbsentSources(*report.model)) {
    const auto& of = source.sections;
    if (std::find(of.begin(), of.end(), section) == of.end()) continue;
    out += "  " + Printable(source.text) + "\n";
  }
  return out;
}

}  // namespace

std::string TextSections(const analysis::Report& report, const std::vector<std::string>& names,
                         const Style& style) {
  std::string out;
  for (const Section& section : Sections()) {
    if (std::find(names.begin(), names.end(), section.name) == names.end()) continue;
    const std::string text = section.write(report, style);
    out += text.empty() ? Nothing(report, section.name) : text;
  }
  return Fitted(style, out.substr(out.find_first_not_of('\n')));
}

std::string TextAnswer(const analysis::Report& report, const Style& style) {
  constexpr size_t kLines = 24;
  std::string first = Printable(OneLine(report)) + "\n" + text::Verdict(report, style);
  std::string time;
  if (report.breakdown.RunNs() > 0) time = text::Classes(report, style, false);
  std::string last = "\n";
  if (!report.losses.None())
    last += Paint(style, Ink::kBad, "Events were lost: --section losses.") + "\n";
  last += "All of it: --full; parts: --section NAME; terms: docs/glossary.md.\n";
  last = Fitted(style, last);
  first = Fitted(style, first), time = Fitted(style, time);
  const auto lines = [](const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const size_t used = lines(first) + lines(time) + lines(last);
  return first + text::Changes(report, style, used < kLines ? kLines - used : 0) + time + last;
}

}  // namespace acceltrace::view
