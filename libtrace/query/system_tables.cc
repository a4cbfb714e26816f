// SPDX-License-Identifier: Apache-2.0
//
// What the host's kernel reports, as tables.
#include <map>

#include "libtrace/analysis/rows/thread_states.h"
#include "libtrace/model/tables/container.h"
#include "libtrace/query/table_builder.h"

namespace acceltrace::query {
namespace {

using Type = PlainTable::Type;
using analysis::ThreadInterval;

const std::string& StateText(analysis::ThreadState state) {
  static const auto* names = [] {
    auto* all = new std::vector<std::string>;
    for (size_t i = 0; i < analysis::kNumThreadStates; ++i) {
      all->push_back(analysis::ThreadStateName(static_cast<analysis::ThreadState>(i)));
    }
    return all;
  }();
  return (*names)[static_cast<size_t>(state)];
}

std::vector<ThreadInterval> FindIntervals(const model::Model& model) {
  std::vector<ThreadInterval> all;
  const model::ThreadRuns& runs = model.system.runs;
  for (const analysis::ThreadRows rows : analysis::RowsByThread(runs)) {
    for (const ThreadInterval& interval : analysis::ThreadIntervals(runs, rows.first, rows.last)) {
      all.push_back(interval);
    }
  }
  return all;
}

// A row for each period of a thread in one state. The kernel's counters are in the rows of running
// threads.
PlainTable ThreadStates(const model::Model& model) {
  using analysis::ThreadState;
  const Lazy<std::vector<ThreadInterval>> rows([&model] { return FindIntervals(model); });
  TableBuilder table("thread_states", [rows] { return rows->size(); });
  const model::ThreadRuns& runs = model.system.runs;
  const auto number = [&](const char* name, const auto& column, auto wanted) {
    table.Add(name, Type::kInteger, [rows, &column, wanted](size_t row) -> Cell {
      const ThreadInterval& at = (*rows)[row];
      return wanted(at.state) ? Cell{uint64_t{column[at.run]}} : Cell{};
    });
  };
  const auto always = [](ThreadState) { return true; };
  const auto running = [](ThreadState state) { return state == ThreadState::kRunning; };
  const auto woken = [](ThreadState state) {
    return state == ThreadState::kSleeping || state == ThreadState::kBlocked;
  };
  number("pid", runs.pid, always);
  number("tid", runs.tid, always);
  table.Text("state",
             [rows](size_t row) -> const std::string& { return StateText((*rows)[row].state); });
  table.Add("begin_ns", Type::kInteger,
            [rows](size_t row) -> Cell { return (*rows)[row].begin_ns; });
  table.Add("end_ns", Type::kInteger, [rows](size_t row) -> Cell { return (*rows)[row].end_ns; });
  number("cpu", runs.cpu, running);
  table.Text("wait", [rows, &model, woken](size_t row) -> const std::string& {
    const ThreadInterval& at = (*rows)[row];
    return model.strings.Get(woken(at.state) ? uint32_t{model.system.runs.wait[at.run]} : 0);
  });
  number("waker_pid", runs.waker_pid, woken);
  number("waker_tid", runs.waker_tid, woken);
  number("waker_interrupt", runs.waker_irq, woken);
  number("charged_ns", runs.charged_ns, running);
  number("minor_faults", runs.minor_faults, running);
  number("major_faults", runs.major_faults, running);
  number("migrations", runs.migrations, running);
  number("voluntary_switches", runs.voluntary, running);
  number("involuntary_switches", runs.involuntary, running);
  return table.Done();
}

PlainTable Interrupts(const model::Model& model) {
  const model::Interrupts& rows = model.system.interrupts;
  static const auto* const kinds = new std::string[3]{"unknown", "hard", "soft"};
  return TableBuilder("interrupts", rows.size())
      .Text("kind",
            [&rows](size_t row) -> const std::string& {
              return kinds[rows.kind[row] < 3 ? rows.kind[row] : 0];
            })
      .Number("number", rows.number)
      .Text("name",
            [&](size_t row) -> const std::string& { return model.strings.Get(rows.name[row]); })
      .Text("device",
            [&](size_t row) -> const std::string& { return DeviceName(model, rows.device[row]); })
      .Number("cpu", rows.cpu)
      .Time("begin_ns", rows.begin_ns)
      .Time("end_ns", rows.end_ns)
      .Number("count", rows.count)
      .Number("total_ns", rows.total_ns)
      .Number("longest_ns", rows.longest_ns)
      .Number("hits", rows.hits)
      .Number("hit_ns", rows.hit_ns)
      .Done();
}

PlainTable SystemCounters(const model::Model& model) {
  const model::SystemTables& system = model.system;
  TableBuilder table("system_counters", system.samples.size());
  const auto text = [&](const char* name, uint32_t model::SystemCounter::*id) {
    table.Text(name, [&model, &system, id](size_t row) -> const std::string& {
      return model.strings.Get(system.counters[system.samples.counter[row]].*id);
    });
  };
  text("source", &model::SystemCounter::source);
  text("object", &model::SystemCounter::object);
  text("counter", &model::SystemCounter::name);
  text("unit", &model::SystemCounter::unit);
  table.Time("time_ns", system.samples.time_ns);
  table.Number("value", system.samples.value);
  return table.Done();
}

PlainTable ProcessGroups(const model::Model& model) {
  const auto& groups = model.system.groups;
  using Containers = std::map<uint32_t, std::string>;  // by the group's string id
  const Lazy<Containers> containers([&model] {
    Containers all;
    for (const model::ProcessGroup& group : model.system.groups) {
      const auto [known, fresh] = all.try_emplace(group.group);
      if (fresh) known->second = model::ContainerOf(model.strings.Get(group.group));
    }
    return all;
  });
  return TableBuilder("process_groups", groups.size())
      .Add("pid", Type::kInteger, [&](size_t row) -> Cell { return uint64_t{groups[row].pid}; })
      .Add("time_ns", Type::kInteger, [&](size_t row) -> Cell { return groups[row].time_ns; })
      .Text("control_group",
            [&](size_t row) -> const std::string& { return model.strings.Get(groups[row].group); })
      .Text("container",
            [&groups, containers](size_t row) -> const std::string& {
              return containers->at(groups[row].group);
            })
      .Done();
}

}  // namespace

std::vector<PlainTable> SystemTables(const model::Model& model) {
  std::vector<PlainTable> tables;
  for (auto* table : {ThreadStates, Interrupts, SystemCounters, ProcessGroups}) {
    tables.push_back(table(model));
  }
  return tables;
}

}  // namespace acceltrace::query
