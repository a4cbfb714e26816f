// SPDX-License-Identifier: Apache-2.0
//
// The report's sections on how far it can be trusted, and `verify`.
#include <fmt/format.h>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view {
namespace text {

using analysis::Law;
using analysis::Report;
using Align = Table::Align;

namespace {

const char* StateText(Law::State state) {
  return state == Law::State::kHolds    ? "holds"
         : state == Law::State::kBroken ? "BROKEN"
                                        : "unknown";
}

}  // namespace

std::string Clocks(const Report& report, const Style& style) {
  Table table({{"device", Align::kLeft, true},
               {"nominal", Align::kRight, false, 4},
               {"rate"},
               {"samples", Align::kRight, false, 1},
               {"rejected", Align::kRight, false, 3},
               {"round trip", Align::kRight, false, 2},
               {"residual p99", Align::kRight, false, 5},
               {"bound of an event: p50"},
               {"p99"},
               {"max"},
               {"outside"}});
  std::string trouble, details;
  for (const analysis::ClockQuality& clock : report.clocks) {
    const std::string& name = report.model->devices[clock.device].about.name();
    if (!clock.valid) {
      trouble += fmt::format("  {}: {}: device times are placed by the nominal frequency only\n",
                             Printable(name), clock.error);
      continue;
    }
    table.Add({name, FormatRate(static_cast<double>(clock.nominal_hz), "tick"),
               fmt::format("{:+.3f} ppm", clock.fit.rate_ppm), FormatCount(clock.fit.samples),
               FormatCount(clock.fit.samples_rejected), FormatNs(clock.fit.round_trip_min_ns),
               FormatNs(static_cast<int64_t>(clock.fit.residual_p99_ns + 0.5)),
               FormatBound(clock.bound_p50_ns), FormatBound(clock.bound_p99_ns),
               FormatBound(clock.bound_max_ns), FormatCount(clock.outside)});
    const clock::Quality& fit = clock.fit;
    details +=
        Printable(fmt::format(
            "  {}: offset {:+.0f} ns at the last sample; residuals {} p50, {} max; {} with a "
            "cross-timestamp; {} steps, {} resets; {} orders of events given, {} contradict",
            name, fit.offset_ns, FormatNs(static_cast<int64_t>(fit.residual_p50_ns + 0.5)),
            FormatNs(static_cast<int64_t>(fit.residual_max_ns + 0.5)), FormatCount(fit.ptm_samples),
            fit.steps, fit.resets, FormatCount(fit.constraints),
            FormatCount(fit.constraints_rejected))) +
        "\n";
  }
  for (const analysis::ClockEdge& edge : report.clock_edges) {
    const auto name = [&](uint32_t device) { return report.model->devices[device].about.name(); };
    details += Printable(fmt::format(
                   "  {} before {}: {} carried by a thread, {} apart at least, {} usually; {} "
                   "contradict",
                   name(edge.from), name(edge.to), Counted(edge.orders, "order", "orders"),
                   FormatNs(edge.least.mid_ns), FormatBound(edge.bound_p50_ns),
                   FormatCount(edge.contradicting))) +
               "\n";
  }
  if (table.empty() && trouble.empty()) return "";
  return view::Heading(style, "DEVICE CLOCKS") + (table.empty() ? "" : table.Render(style)) +
         Paint(style, Ink::kDim, details) + Paint(style, Ink::kBad, trouble);
}

namespace {

std::string Hops(const analysis::Losses& losses, const Style& style) {
  Table table({{"hop", Align::kLeft, true}, {"in"}, {"out"}, {"lost"}, {"refused"}});
  for (const analysis::HopUse& hop : losses.hops) {
    table.Add({hop.name, FormatCount(hop.in), FormatCount(hop.out), FormatCount(hop.lost),
               FormatCount(hop.bad)});
  }
  return table.empty() ? "" : table.Render(style);
}

std::string Damage(const analysis::Losses& losses) {
  return Counted(losses.damaged_stretches, "damaged stretch", "damaged stretches");
}

}  // namespace

std::string UnseenCalls(const analysis::Losses& losses, const Style& style) {
  std::string out;
  for (const auto& [pid, why] : losses.unseen) {
    const std::string line =
        fmt::format("  API calls of process {} could not be seen: {}", pid, why);
    out += Paint(style, Ink::kBad, Printable(line)) + "\n";
  }
  return out;
}

std::string Losses(const Report& report, const Style& style) {
  const analysis::Losses& losses = report.losses;
  std::string remark =
      losses.None() ? "none" : Counted(losses.lost, "event", "events") + " lost on the way";
  if (losses.damaged_stretches + losses.bad_packets > 0) remark += "; the file is damaged";
  if (!losses.has_accounts) remark += "; the recording's own accounts are missing";
  std::string out = view::Heading(style, "LOSSES", remark);
  out += Hops(losses, style) + UnseenCalls(losses, style);
  if (losses.damaged_stretches + losses.bad_packets + losses.unusable_rows > 0) {
    out += Paint(style, Ink::kBad,
                 fmt::format("  file: {} ({}, {} missing), {}, {}", Damage(losses),
                             FormatBytes(losses.damaged_bytes),
                             Counted(losses.missing_packets, "packet", "packets"),
                             Counted(losses.bad_packets, "invalid packet", "invalid packets"),
                             Counted(losses.unusable_rows, "unusable row", "unusable rows"))) +
           "\n";
  }
  return out;
}

std::string Checks(const Report& report, const Style& style) {
  const analysis::Causality& order = report.causality;
  uint64_t holding = 0, broken = 0, unknown = 0;
  std::string details;
  for (const Law& law : report.laws) {
    ++(law.state == Law::State::kHolds    ? holding
       : law.state == Law::State::kBroken ? broken
                                          : unknown);
    if (law.state == Law::State::kHolds) continue;
    const std::string line =
        fmt::format("  {}{}{}: {}: {}", law.device, law.device.empty() ? "" : ": ", law.text,
                    StateText(law.state), law.note);
    details +=
        Paint(style, law.state == Law::State::kBroken ? Ink::kBad : Ink::kDim, Printable(line)) +
        "\n";
  }
  std::string out = view::Heading(style, "CHECKS");
  out += fmt::format(
      "  order of events: {} pairs in {} jobs: {} certain, {} within the clock's bounds, {}\n",
      FormatCount(order.constraints), FormatCount(order.jobs), FormatCount(order.certain),
      FormatCount(order.possible),
      Paint(style, order.violations > 0 ? Ink::kBad : Ink::kGood,
            Counted(order.violations, "violation", "violations")));
  out += fmt::format(
      "  conservation: {} {}, {}, {} could not be checked\n", Counted(holding, "law", "laws"),
      holding == 1 ? "holds" : "hold",
      Paint(style, broken > 0 ? Ink::kBad : Ink::kGood, fmt::format("{} broken", broken)), unknown);
  return out + details;
}

namespace {

// The threads with the highest cost that are listed.
constexpr size_t kMostThreads = 5;

std::string Calibrated(const analysis::Overhead& cost, const Style& style) {
  std::string out = fmt::format(
      "  the run is {} longer for it; within the run {} in events, {} in the daemon, woken {} "
      "times in all\n",
      FormatSpan(cost.run), FormatSpan(cost.events), FormatSpan(cost.recorder),
      FormatCount(cost.wakes));
  Table table({{"event", Align::kLeft}, {"count"}, {"each, calibrated"}});
  for (const analysis::EventKindCost& kind : cost.kinds) {
    table.Add({Printable(kind.kind), FormatCount(kind.events),
               fmt::format("{:.0f} ±{:.0f} ns", kind.each_ns, kind.each_error_ns)});
  }
  if (!table.empty()) out += table.Render(style);
  std::string threads;
  for (size_t i = 0; i < std::min(cost.threads.size(), kMostThreads); ++i) {
    const analysis::ThreadCost& thread = cost.threads[i];
    threads += fmt::format("{}thread {}: {} of {} events", i == 0 ? "  " : "; ", thread.tid,
                           FormatSpan(thread.time), FormatCount(thread.events));
  }
  if (cost.threads.size() > kMostThreads) {
    threads += fmt::format("; {} more", cost.threads.size() - kMostThreads);
  }
  return out + (threads.empty() ? "" : threads + "\n");
}

}  // namespace

std::string Tracer(const Report& report, const Style& style) {
  const analysis::Overhead& cost = report.overhead;
  std::string out = view::Heading(style, "THE TRACER'S OWN COST");
  if (!cost.known) return out + "  unknown: the recording's own accounts are missing\n";
  out += fmt::format("  daemon {} of CPU ({} of one CPU over the recording)\n",
                     FormatNs(static_cast<int64_t>(cost.cpu_ns)), FormatShare(cost.cpu_share));
  if (cost.calibrated) {
    out += Calibrated(cost, style);
  } else if (cost.probe_runs > 0) {
    out += fmt::format("  probes ran {} times", FormatCount(cost.probe_runs));
    if (cost.probe_ns > 0) {
      out += fmt::format(", {} in all, {} each", FormatNs(static_cast<int64_t>(cost.probe_ns)),
                         FormatNs(static_cast<int64_t>(cost.probe_ns / cost.probe_runs)));
    }
    out += "\n";
  }
  out += fmt::format("  wrote {}, {:.1f} bytes a row\n", FormatBytes(cost.bytes_written),
                     cost.bytes_per_row);
  for (const proto::Probe& probe : report.model->info.probes()) {
    if (probe.attached()) continue;
    out += Paint(style, Ink::kDim,
                 Printable(fmt::format("  not attached: {}: {}", probe.name(), probe.reason()))) +
           "\n";
  }
  return out;
}

}  // namespace text

std::string TextVerify(const analysis::Report& report,
                       const std::vector<analysis::Finding>& findings, const Style& style) {
  const model::Model& model = *report.model;
  using text::StateText;
  std::string out;
  const auto line = [&](const char* what, bool good, const std::string& text) {
    out += fmt::format("{:<14}{}\n", what, Paint(style, good ? Ink::kGood : Ink::kBad, text));
  };
  const auto found = [&](const char* kind) {
    for (const analysis::Finding& finding : findings) {
      if (finding.kind == kind) return true;
    }
    return false;
  };
  line("packets", !found("damage"),
       fmt::format("{} read and checked, {} bytes: {}, {} missing, {} invalid, footer {}",
                   FormatCount(model.read.packets), FormatCount(model.read.bytes),
                   text::Damage(report.losses),
                   Counted(report.losses.missing_packets, "packet", "packets"),
                   model.read.bad_packets, model.read.has_footer ? "present" : "MISSING"));
  line("rows", !found("rows"),
       fmt::format("{} API calls, {} host events, {} jobs, {} commands: {} unusable",
                   FormatCount(report.counts.api_calls), FormatCount(report.counts.host_events),
                   FormatCount(report.counts.jobs), FormatCount(report.counts.commands),
                   report.losses.unusable_rows));
  line("losses", !found("loss"),
       fmt::format("{} lost, {} refused, at {}", FormatCount(report.losses.lost),
                   FormatCount(report.losses.bad),
                   Counted(report.losses.hops.size(), "hop", "hops")));
  out += text::Hops(report.losses, style);
  line("causality", !found("order"),
       fmt::format("{} pairs in {} jobs: {} certain, {} within bounds, {}",
                   FormatCount(report.causality.constraints), FormatCount(report.causality.jobs),
                   FormatCount(report.causality.certain), FormatCount(report.causality.possible),
                   Counted(report.causality.violations, "violation", "violations")));
  line("conservation", !found("law"), Counted(report.laws.size(), "law", "laws"));
  for (const analysis::Law& law : report.laws) {
    std::string text = fmt::format("  {:<9}{}{}{}", StateText(law.state), law.device,
                                   law.device.empty() ? "" : ": ", law.text);
    if (law.state == analysis::Law::State::kUnknown) {
      text += ": " + law.note;
    } else {
      text += ": " + Counted(law.checked, "case", "cases");
    }
    out += Paint(style, law.state == analysis::Law::State::kBroken ? Ink::kBad : Ink::kDim,
                 Printable(text)) +
           "\n";
  }
  for (const analysis::ClockQuality& clock : report.clocks) {
    const std::string& name = model.devices[clock.device].about.name();
    line("clock",
         clock.valid && clock.fit.constraints_rejected == 0 && clock.fit.samples_wrong == 0,
         Printable(name) + ": " +
             (clock.valid
                  ? fmt::format("{} samples, {} rejected, {} orders of events given, {} contradict",
                                clock.fit.samples, clock.fit.samples_rejected,
                                clock.fit.constraints, clock.fit.constraints_rejected)
                  : Printable(clock.error)));
  }
  if (findings.empty()) {
    out += Paint(style, Ink::kGood, "no findings") + "\n";
  } else {
    out += Paint(style, Ink::kBad, Counted(findings.size(), "finding", "findings")) + "\n";
    for (const analysis::Finding& finding : findings) {
      out += Printable(fmt::format("  {}: {}", finding.kind, finding.text)) + "\n";
    }
  }
  return out;
}

}  // namespace acceltrace::view
