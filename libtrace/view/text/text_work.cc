// SPDX-License-Identifier: Apache-2.0
//
// The report's sections on transfers, memory, ops and ranges.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view::text {

using analysis::Report;
using Align = Table::Align;

std::string Calls(const Report& report, const Style& style) {
  if (report.calls.empty()) return "";
  const size_t most = style.rows > 0 ? style.rows : 12;
  const size_t shown = std::min(most, report.calls.size());
  std::string out = view::Heading(
      style, "API CALLS",
      shown < report.calls.size() ? fmt::format("the first {} of {}", shown, report.calls.size())
                                  : "");
  Table table({{"call", Align::kLeft, true},
               {"count"},
               {"total"},
               {"p50"},
               {"p99"},
               {"max", Align::kRight, false, 1},
               {"bytes", Align::kRight, false, 2},
               {"jobs", Align::kRight, false, 3},
               {"failed"}});
  for (size_t i = 0; i < shown; ++i) {
    const analysis::CallUse& call = report.calls[i];
    table.Add({call.name, FormatCount(call.time.count + call.open), FormatSpan(call.time.total),
               FormatSpan(call.time.p50), FormatSpan(call.time.p99), FormatSpan(call.time.max),
               call.bytes > 0 ? FormatBytes(call.bytes) : "",
               call.jobs > 0 ? FormatCount(call.jobs) : "",
               call.failed > 0 ? FormatCount(call.failed) : ""});
  }
  return out + table.Render(style);
}

std::string Transfers(const Report& report, const Style& style) {
  std::string out;
  for (const analysis::DeviceTransfers& transfers : report.transfers) {
    const model::Device& device = report.model->devices[transfers.device];
    Table table({{"direction", Align::kLeft},
                 {"size", Align::kLeft},
                 {"transfers"},
                 {"bytes"},
                 {"time", Align::kRight, false, 1},
                 {"achieved"},
                 {"of link"},
                 {"", Align::kLeft, false, 2}});
    double link = 0, ceiling = 0;
    for (const analysis::Direction& direction : transfers.directions) {
      if (direction.all.count == 0) continue;
      link = direction.link_bytes_per_s;
      ceiling = direction.ceiling_bytes_per_s;
      const auto add = [&](const std::string& name, const std::string& size,
                           const analysis::SizeClass& of) {
        table.Add({name, size, FormatCount(of.count), FormatBytes(of.bytes), FormatSpan(of.time),
                   FormatRate(of.bytes_per_s, "B"), link > 0 ? FormatShare(of.of_link) : "-",
                   Bar(of.of_link.mid, 12)});
      };
      add(direction.name, "all", direction.all);
      if (direction.sizes.size() < 2) continue;
      for (const analysis::SizeClass& size : direction.sizes) {
        add("", size.up_to_bytes == UINT64_MAX ? "larger" : "≤ " + FormatBytes(size.up_to_bytes),
            size);
      }
    }
    if (table.empty()) continue;
    std::string remark = "link bandwidth unknown";
    if (link > 0) {
      remark =
          fmt::format("gen {} x{}: {} each way after line coding, {} of payload at {} B packets",
                      transfers.generation, transfers.width, FormatRate(link, "B"),
                      FormatRate(ceiling, "B"), device.about.pci().max_payload_bytes());
    }
    out += view::Heading(style, "TRANSFERS " + Printable(device.about.name()), remark);
    out += table.Render(style);
  }
  return out;
}

std::string Memory(const Report& report, const Style& style) {
  std::string out;
  for (const analysis::DeviceMemory& memory : report.memory) {
    if (memory.all.moved_bytes == 0) continue;
    const model::Device& device = report.model->devices[memory.device];
    out += view::Heading(
        style, "DEVICE MEMORY " + Printable(device.about.name()),
        memory.peak_bytes_per_s > 0
            ? fmt::format("peak {}", FormatRate(static_cast<double>(memory.peak_bytes_per_s), "B"))
            : "");
    Table table({{"by", Align::kLeft},
                 {"moved"},
                 {"row hits"},
                 {"bandwidth"},
                 {"of peak"},
                 {"", Align::kLeft, false, 1}});
    const auto add = [&](const analysis::MemoryUse& use, const std::string& name) {
      if (use.moved_bytes == 0) return;
      const bool rows = use.row_hits + use.row_misses > 0;
      table.Add({name, FormatBytes(use.moved_bytes), rows ? FormatShare(use.HitRate()) : "-",
                 FormatRate(use.bytes_per_s, "B"),
                 memory.peak_bytes_per_s > 0 ? FormatShare(use.of_peak) : "-",
                 Bar(use.of_peak.mid, 12)});
    };
    for (const analysis::MemoryUse& unit : memory.units) add(unit, unit.name + ", while it ran");
    add(memory.all, "all, over the window");
    out += table.Render(style);
    const analysis::MemoryCounters& counters = memory.counters;
    if (counters.available && counters.read_bytes + counters.write_bytes > 0) {
      out += fmt::format(
          "  by the counters: {} read and {} written in whole bursts, {} of it asked "
          "for; {} of bursts found their row open, {} another row\n",
          FormatBytes(counters.read_bytes), FormatBytes(counters.write_bytes),
          FormatShare(counters.Efficiency()), FormatShare(counters.HitRate()),
          FormatShare(static_cast<double>(counters.row_conflicts) /
                      static_cast<double>(std::max<uint64_t>(
                          1, counters.row_hits + counters.row_misses + counters.row_conflicts))));
    }
  }
  return out;
}

// Names what gains most if it alone is faster.
std::string GainsBy(const std::vector<analysis::PartLimit>& limits, size_t part, bool both,
                    const char* (*name)(analysis::Resource)) {
  if (part >= limits.size() || limits[part].first.share <= 0) return "-";
  const analysis::PartLimit& limit = limits[part];
  std::string text =
      fmt::format("{} {:.1f} %", name(limit.first.resource), 100 * limit.first.share);
  if (both && limit.several()) {
    text += fmt::format(", {} {:.1f} %", name(limit.second.resource), 100 * limit.second.share);
  }
  return text;
}

std::string Ops(const Report& report, const Style& style) {
  const std::vector<analysis::OpUse>& ops = report.op_groups;
  if (ops.empty()) return "";
  const size_t most = style.rows > 0 ? style.rows : 20;
  const size_t shown = std::min(most, ops.size());
  std::string remark =
      "time and peak: start to end, with stalls; busy: of that and the wait before";
  if (shown < ops.size()) remark += fmt::format("; the first {} of {}", shown, ops.size());
  std::string out = view::Heading(style, "OPS BY DEVICE TIME", remark);
  Table table({{"op", Align::kLeft, true},
               {"unit", Align::kLeft, false, 4},
               {"count", Align::kRight, false, 3},
               {"time"},
               {"share"},
               {"busy", Align::kRight, false, 5},
               {"limited by", Align::kLeft, false, 1},
               {"of peak", Align::kRight, false, 2},
               {"1.25x of it saves", Align::kLeft}});
  for (size_t i = 0; i < shown; ++i) {
    const analysis::OpUse& op = ops[i];
    table.Add({op.name, op.unit, FormatCount(op.count), FormatSpan(op.time), FormatShare(op.share),
               op.held.hi > 0 ? FormatShare(op.busy_share) : "-", op.limiter,
               op.peak_share.hi > 0 && op.work > 0 ? FormatShare(op.peak_share) : "",
               GainsBy(report.part_limits.op_groups, i, false, analysis::ResourceKey)});
  }
  return out + table.Render(style);
}

// Returns "memcpy_h2d +182.0 us (1 more, 1.00 MiB more)".
std::string SlowParts(const std::vector<analysis::SlowRangePart>& parts) {
  std::string text;
  for (const analysis::SlowRangePart& part : parts) {
    text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", Printable(part.name),
                        FormatNs(std::llround(part.MoreNs())));
    std::string more;
    if (const double count = part.count - part.usual_count; count >= 0.05) {
      more = fmt::format("{:.3g} more", count);
    }
    if (const double bytes = part.bytes - part.usual_bytes; bytes >= 1) {
      more += fmt::format("{}{} more", more.empty() ? "" : ", ",
                          FormatBytes(static_cast<uint64_t>(bytes)));
    }
    if (!more.empty()) text += " (" + more + ")";
  }
  return text;
}

std::string SlowRanges(const Report& report) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(kShown, report.slow_ranges.size()); ++i) {
    const analysis::SlowRanges& slow = report.slow_ranges[i];
    out += i == 0 ? "\n" : "";
    const std::string which = slow.slow == 1
                                  ? fmt::format("the slowest of {} takes {}",
                                                FormatCount(slow.count), FormatNs(slow.slow_ns))
                                  : fmt::format("the slowest {} of {} take {} to {}",
                                                FormatCount(slow.slow), FormatCount(slow.count),
                                                FormatNs(slow.slow_ns), FormatNs(slow.longest_ns));
    out += fmt::format("  {}: {}, half of all {} or less\n", Printable(slow.name), which,
                       FormatNs(slow.median_ns));
    if (!slow.host.empty()) out += "    on the host: " + SlowParts(slow.host) + "\n";
    if (!slow.device.empty()) out += "    on devices: " + SlowParts(slow.device) + "\n";
  }
  return out;
}

std::string Ranges(const Report& report, const Style& style) {
  const std::vector<analysis::RangeUse>& ranges = report.range_groups;
  if (ranges.empty()) return "";
  const size_t most = style.rows > 0 ? style.rows : 20;
  const size_t shown = std::min(most, ranges.size());
  std::string remark = "host time inclusive; device time of the work that was submitted inside";
  if (shown < ranges.size()) {
    remark += fmt::format("; the first {} of {}", shown, ranges.size());
  }
  std::string out = view::Heading(style, "RANGES", remark);
  Table table({{"range", Align::kLeft, true},
               {"count"},
               {"host time"},
               {"mean", Align::kRight, false, 3},
               {"longest", Align::kRight, false, 6},
               {"jobs", Align::kRight, false, 4},
               {"commands", Align::kRight, false, 5},
               {"device time", Align::kRight, false, 2},
               {"1.25x of it saves", Align::kLeft}});
  constexpr int kRoomForNames = 110;
  const auto name = style.width < kRoomForNames ? analysis::ResourceKey : analysis::ResourceName;
  for (size_t i = 0; i < shown; ++i) {
    const analysis::RangeUse& range = ranges[i];
    table.Add({std::string(2 * std::min(range.depth, 8u), ' ') + range.name,
               FormatCount(range.count), FormatNs(range.host_ns),
               FormatNs(range.host_ns / static_cast<int64_t>(range.count)),
               FormatNs(range.longest_ns), FormatCount(range.jobs), FormatCount(range.commands),
               FormatSpan(range.device), GainsBy(report.part_limits.range_groups, i, true, name)});
  }
  return out + table.Render(style) + SlowRanges(report);
}

// A single phase needs no table, since it is the run itself.
std::string OnlyPhase(const Report& report, const Style& style) {
  std::string text;
  if (report.phases.list.empty()) {
    if (*report.phases.why_none == '\0') return "";
    text = fmt::format("none can be claimed: {}", report.phases.why_none);
  } else if (const analysis::Phase& phase = report.phases.list[0]; phase.rounds > 0) {
    text = fmt::format("one only, of {} like rounds in {} jobs", FormatCount(phase.rounds),
                       FormatCount(phase.jobs));
  } else {
    text =
        fmt::format("one only, of {} jobs in which no computing repeats", FormatCount(phase.jobs));
  }
  return view::Heading(style, "PHASES", text);
}

std::string FoundPhases(const Report& report, const Style& style) {
  const std::vector<analysis::Phase>& phases = report.phases.list;
  if (phases.size() < 2) return OnlyPhase(report, style);
  const size_t most = style.rows > 0 ? style.rows : 20;
  const size_t shown = std::min(most, phases.size());
  std::string remark = "found in the jobs: what repeats, and what is done in it";
  if (shown < phases.size()) remark += fmt::format("; the first {} of {}", shown, phases.size());
  std::string out = view::Heading(style, "PHASES", remark);
  Table table({{"phase", Align::kLeft, true},
               {"begin"},
               {"time"},
               {"rounds"},
               {"jobs", Align::kRight, false, 1},
               {"matrix work a round", Align::kRight, false, 2},
               {"copied in"},
               {"1.25x of it saves", Align::kLeft}});
  for (size_t i = 0; i < shown; ++i) {
    const analysis::Phase& phase = phases[i];
    const uint64_t each = phase.matrix_work / std::max<uint64_t>(1, phase.rounds);
    table.Add({analysis::PhaseName(phase.kind),
               FormatNs(phase.begin_ns - report.breakdown.begin_ns),
               FormatNs(phase.end_ns - phase.begin_ns),
               phase.rounds > 0 ? FormatCount(phase.rounds) : "-", FormatCount(phase.jobs),
               FormatCount(each), FormatBytes(phase.bytes_in),
               GainsBy(report.part_limits.phases, i, true, analysis::ResourceKey)});
  }
  return out + table.Render(style);
}

}  // namespace acceltrace::view::text
