// SPDX-License-Identifier: Apache-2.0
//
// The report's sections on threads and on the host.
#include <fmt/format.h>

#include <algorithm>

#include "libtrace/base/utf8.h"
#include "libtrace/model/tables/container.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view::text {
namespace {

using analysis::Report;
using analysis::ThreadState;
using analysis::ThreadUse;
using Align = Table::Align;

constexpr size_t kThreads = 16, kInterrupts = 12, kGroups = 12;

std::string ThreadText(const Report& report, uint32_t pid, uint32_t tid) {
  std::string name = report.model->ThreadName(pid, tid);
  if (name.empty()) name = report.model->ProcessName(pid);
  return Printable(fmt::format("{} {}", name.empty() ? "thread" : name, tid));
}

std::string First(size_t shown, size_t all) {
  return shown < all ? fmt::format("the first {} of {}", shown, all) : "";
}

std::string Time(int64_t ns, int64_t of_ns) {
  if (ns <= 0) return "";
  return FormatNs(ns) + " " + FormatShare(static_cast<double>(ns) / static_cast<double>(of_ns));
}

// Lists the functions in which it waited longest.
std::string Waits(const Report& report, const ThreadUse& thread) {
  std::string text;
  constexpr size_t kWaits = 2;
  for (size_t i = 0; i < std::min(kWaits, thread.waits.size()); ++i) {
    const analysis::WaitUse& wait = thread.waits[i];
    const std::string& name = report.model->strings.Get(wait.name);
    if (name.empty()) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", Printable(name), FormatNs(wait.total_ns));
  }
  return text;
}

// Returns whether wake-ups by interrupts are recorded; otherwise, the interrupted thread appears as
// the waker.
bool KnowsInterrupts(const model::Model& model) {
  for (const proto::Probe& probe : model.info.probes()) {
    if (probe.name() == "sched:waking-interrupts") return probe.attached();
  }
  return true;
}

std::string Threads(const Report& report, const Style& style) {
  const std::vector<ThreadUse>& threads = report.system.threads.first;
  if (threads.empty()) return "";
  const size_t shown = std::min(style.rows > 0 ? style.rows : kThreads, threads.size());
  std::string out = view::Heading(style, "THREADS", First(shown, report.system.threads.all));
  Table table({{"thread", Align::kLeft, true},
               {"on CPU"},
               {"waits for CPU"},
               {"longest", Align::kRight, false, 1},
               {"sleeps"},
               {"blocked", Align::kRight, false, 2},
               {"not known"},
               {"in", Align::kLeft, false, 3}});
  for (size_t i = 0; i < shown; ++i) {
    const ThreadUse& t = threads[i];
    const int64_t all_ns = std::max<int64_t>(1, t.end_ns - t.begin_ns);
    table.Add({ThreadText(report, t.pid, t.tid), Time(t.Ns(ThreadState::kRunning), all_ns),
               Time(t.Ns(ThreadState::kRunnable), all_ns),
               t.longest_runnable_ns > 0 ? FormatNs(t.longest_runnable_ns) : "",
               Time(t.Ns(ThreadState::kSleeping), all_ns),
               Time(t.Ns(ThreadState::kBlocked) + t.Ns(ThreadState::kStopped), all_ns),
               Time(t.Ns(ThreadState::kUnknown), all_ns), Waits(report, t)});
  }
  out += table.Render(style);
  out += "\n";
  Table counts({{"thread", Align::kLeft},
                {"voluntary"},
                {"preempted"},
                {"migrations", Align::kRight, false, 3},
                {"CPUs", Align::kRight, false, 2},
                {"minor faults"},
                {"major faults"},
                {"woken most by", Align::kLeft, false, 1}});
  const bool knows_interrupts = KnowsInterrupts(*report.model);
  for (size_t i = 0; i < shown; ++i) {
    const ThreadUse& t = threads[i];
    std::string waker;
    if (!t.wakers.empty()) {
      const analysis::WakerUse& most = t.wakers.front();
      waker = most.interrupt ? "interrupts" : ThreadText(report, most.pid, most.tid);
      if (!most.interrupt && !knows_interrupts) waker += " or interrupts meanwhile";
      waker += fmt::format(", {} times", FormatCount(most.count));
    }
    counts.Add({ThreadText(report, t.pid, t.tid), FormatCount(t.voluntary),
                FormatCount(t.involuntary), FormatCount(t.migrations), FormatCount(t.cpus),
                FormatCount(t.minor_faults), FormatCount(t.major_faults), waker});
  }
  return out + counts.Render(style);
}

std::string Interrupts(const Report& report, const Style& style) {
  const std::vector<analysis::InterruptUse>& interrupts = report.system.interrupts.first;
  if (interrupts.empty()) return "";
  const size_t shown = std::min(style.rows > 0 ? style.rows : kInterrupts, interrupts.size());
  std::string out = view::Heading(style, "INTERRUPTS", First(shown, report.system.interrupts.all));
  Table table({{"", Align::kLeft},
               {"number"},
               {"name", Align::kLeft, true},
               {"count"},
               {"time"},
               {"longest", Align::kRight, false, 1},
               {"CPUs", Align::kRight, false, 2},
               {"of recorded threads"},
               {"time"}});
  for (size_t i = 0; i < shown; ++i) {
    const analysis::InterruptUse& use = interrupts[i];
    using Kind = proto::InterruptBatch;
    const char* kind = use.kind == Kind::KIND_HARD   ? "hard"
                       : use.kind == Kind::KIND_SOFT ? "soft"
                                                     : "";
    std::string name = Printable(report.model->strings.Get(use.name));
    if (use.device != model::kNoRow) {
      name += " of " + Printable(report.model->devices[use.device].about.name());
    }
    table.Add({kind, std::to_string(use.number), name, FormatCount(use.count),
               FormatNs(static_cast<int64_t>(use.total_ns)),
               FormatNs(static_cast<int64_t>(use.longest_ns)), FormatCount(use.cpus),
               use.hits > 0 ? FormatCount(use.hits) : "",
               use.hits > 0 ? FormatNs(static_cast<int64_t>(use.hit_ns)) : ""});
  }
  return out + table.Render(style);
}

std::string Amount(uint64_t value, const std::string& unit) {
  if (unit == "bytes") return FormatBytes(value);
  if (unit == "ns") return FormatNs(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
  if (unit == "us") {
    return FormatNs(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX / 1000) * 1000));
  }
  return FormatCount(value) + (unit.empty() || unit == "count" ? "" : " " + Printable(unit));
}

// Lists gauges, and totals that changed; counters that were always 0 are omitted.
std::string Counters(const Report& report, const Style& style) {
  const model::SystemTables& system = report.model->system;
  Table table({{"source", Align::kLeft},
               {"of", Align::kLeft, true},
               {"", Align::kLeft, true},
               {"grown"},
               {"least"},
               {"most"},
               {"last"}});
  for (const analysis::SystemCounterUse& use : report.system.counters) {
    const model::SystemCounter& counter = system.counters[use.counter];
    if (counter.total ? use.grown == 0 : use.most == 0) continue;
    const model::StringTable& strings = report.model->strings;
    const std::string& unit = strings.Get(counter.unit);
    const auto amount = [&](uint64_t value) { return Amount(value, unit); };
    const std::string& object = strings.Get(counter.object);
    table.Add({Printable(strings.Get(counter.source)), object.empty() ? "all" : Printable(object),
               Printable(strings.Get(counter.name)), counter.total ? amount(use.grown) : "",
               counter.total ? "" : amount(use.least), counter.total ? "" : amount(use.most),
               counter.total ? "" : amount(use.last)});
  }
  if (table.empty()) return "";
  return view::Heading(style, "HOST", "what changed, by the kernel's counters") +
         table.Render(style);
}

std::string Groups(const Report& report, const Style& style) {
  const std::vector<analysis::GroupUse>& groups = report.system.groups.first;
  if (groups.empty()) return "";
  const size_t shown = std::min(style.rows > 0 ? style.rows : kGroups, groups.size());
  std::string out = view::Heading(style, "CONTROL GROUPS", First(shown, report.system.groups.all));
  const double all_ns = report.system.groups_device_ns;
  Table table({{"group", Align::kLeft, true},
               {"container", Align::kLeft, true},
               {"processes"},
               {"jobs"},
               {"commands", Align::kRight, false, 1},
               {"time on devices"},
               {"share"}});
  for (size_t i = 0; i < shown; ++i) {
    const analysis::GroupUse& use = groups[i];
    const std::string name = use.group == 0 ? "not known" : report.model->strings.Get(use.group);
    const std::string container = model::ShortContainer(model::ContainerOf(name));
    table.Add({Printable(name), Printable(container), FormatCount(use.processes),
               FormatCount(use.jobs), FormatCount(use.commands),
               FormatNs(static_cast<int64_t>(use.device_ns)),
               all_ns > 0 ? FormatShare(use.device_ns / all_ns) : ""});
  }
  return out + table.Render(style);
}

}  // namespace

std::string System(const Report& report, const Style& style) {
  return Threads(report, style) + Interrupts(report, style) + Counters(report, style) +
         Groups(report, style);
}

}  // namespace acceltrace::view::text
