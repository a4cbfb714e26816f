// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/tables.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "libtrace/analysis/rows/command_cursor.h"
#include "libtrace/query/table_builder.h"

namespace acceltrace::query {
namespace {

using Type = PlainTable::Type;

const std::string kNone;

// Converts KIND_SUBMIT_END to submit_end.
std::string KindText(const std::string& enum_name) {
  constexpr size_t kPrefix = 5;
  std::string name = enum_name.size() > kPrefix ? enum_name.substr(kPrefix) : "unknown";
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// The names of an enum's values, by value; invalid values are "unknown".
class KindNames {
 public:
  template <typename Name>
  KindNames(int max, const Name& name) : unknown_("unknown") {
    for (int kind = 0; kind <= max; ++kind) names_.push_back(KindText(name(kind)));
  }
  const std::string& Of(uint32_t kind) const {
    return kind < names_.size() ? names_[kind] : unknown_;
  }

 private:
  std::vector<std::string> names_;
  std::string unknown_;
};

const std::string& HostKind(uint32_t kind) {
  static const KindNames names(proto::HostBatch::Kind_MAX, [](int value) {
    return proto::HostBatch::Kind_Name(static_cast<proto::HostBatch::Kind>(value));
  });
  return names.Of(kind);
}

const std::string& DeviceEventKind(uint32_t kind) {
  static const KindNames names(proto::DeviceEventBatch::Kind_MAX, [](int value) {
    return proto::DeviceEventBatch::Kind_Name(static_cast<proto::DeviceEventBatch::Kind>(value));
  });
  return names.Of(kind);
}

// The key that determines the text of a row.
template <typename T>
auto Of(const model::Column<T>& numbers) {
  return [&numbers](size_t row) { return uint64_t{numbers[row]}; };
}
auto Of(const model::Column<uint32_t>& devices, const model::Column<uint32_t>& numbers) {
  return [&devices, &numbers](size_t row) { return uint64_t{devices[row]} << 32 | numbers[row]; };
}

PlainTable Devices(const model::Model& model) {
  const auto about = [&model](size_t row) -> const proto::Device& {
    return model.devices[row].about;
  };
  const auto number = [about](auto get) {
    return [about, get](size_t row) { return static_cast<uint64_t>(get(about(row))); };
  };
  using D = proto::Device;
  return TableBuilder("devices", model.devices.size())
      .Text("device", [about](size_t row) -> const std::string& { return about(row).name(); })
      .Text("driver", [about](size_t row) -> const std::string& { return about(row).driver(); })
      .Text("model", [about](size_t row) -> const std::string& { return about(row).model(); })
      .Text("pci_address",
            [about](size_t row) -> const std::string& { return about(row).pci().address(); })
      .Add("link_generation", Type::kInteger,
           number([](const D& d) { return d.pci().link_speed(); }))
      .Add("link_width", Type::kInteger, number([](const D& d) { return d.pci().link_width(); }))
      .Add("memory_bytes", Type::kInteger, number([](const D& d) { return d.memory_bytes(); }))
      .Add("clock_hz", Type::kInteger, number([](const D& d) { return d.clock().nominal_hz(); }))
      .Done();
}

PlainTable Processes(const model::Model& model) {
  return TableBuilder("processes", model.processes.size())
      .Add("pid", Type::kInteger,
           [&](size_t row) -> Cell { return uint64_t{model.processes[row].pid}; })
      .Add("tid", Type::kInteger,
           [&](size_t row) -> Cell { return uint64_t{model.processes[row].tid}; })
      .Text("name",
            [&](size_t row) -> const std::string& {
              return model.strings.Get(model.processes[row].name);
            })
      .Done();
}

PlainTable Api(const model::Model& model) {
  const model::ApiCalls& api = model.api;
  return TableBuilder("api", api.size())
      .Number("correlation", api.correlation)
      .Text("name", Of(api.name),
            [&](size_t row) -> const std::string& { return model.strings.Get(api.name[row]); })
      .Number("pid", api.pid)
      .Number("tid", api.tid)
      .Time("begin_ns", api.begin_ns)
      .Sorted()
      .Time("end_ns", api.end_ns)
      .Number("stream", api.stream)
      .Number("bytes", api.bytes)
      .Number("result", api.result)
      .Number("open", api.open)
      .Number("began_before", api.began_before)
      .Done();
}

PlainTable Ranges(const model::Model& model) {
  const model::Ranges& ranges = model.ranges;
  return TableBuilder("ranges", ranges.size())
      .Text("name", Of(ranges.name),
            [&](size_t row) -> const std::string& { return model.strings.Get(ranges.name[row]); })
      .Number("pid", ranges.pid)
      .Number("tid", ranges.tid)
      .Time("begin_ns", ranges.begin_ns)
      .Sorted()
      .Time("end_ns", ranges.end_ns)
      .Number("depth", ranges.depth)
      .Number("mark", ranges.mark)
      .Number("open", ranges.open)
      .Number("began_before", ranges.began_before)
      .Done();
}

PlainTable HostEvents(const model::Model& model) {
  const model::HostEvents& host = model.host;
  return TableBuilder("host_events", host.size())
      .Time("time_ns", host.time_ns)
      .Sorted()
      .Text("kind", Of(host.kind),
            [&](size_t row) -> const std::string& { return HostKind(host.kind[row]); })
      .Text("device", Of(host.device),
            [&](size_t row) -> const std::string& { return DeviceName(model, host.device[row]); })
      .Number("cpu", host.cpu)
      .Number("pid", host.pid)
      .Number("tid", host.tid)
      .Number("context", host.context)
      .Number("queue", host.queue)
      .Number("job", host.job)
      .Number("sequence", host.sequence)
      .Number("correlation", host.correlation)
      .Number("arg0", host.arg0)
      .Number("arg1", host.arg1)
      .Text("opcode",
            [&](size_t row) -> const std::string& {
              const uint64_t opcode = host.arg0[row] >> 32;
              if (host.kind[row] != proto::HostBatch::KIND_SUBMIT || opcode == 0) return kNone;
              return host.device[row] == model::kNoRow ? kNone
                                                       : model.devices[host.device[row]].OpcodeName(
                                                             static_cast<uint32_t>(opcode - 1));
            })
      .Done();
}

PlainTable Jobs(const model::Model& model) {
  const model::Jobs& jobs = model.jobs;
  const auto call = [&model](const model::Column<uint32_t>& rows,
                             size_t row) -> const std::string& {
    return rows[row] == model::kNoRow ? kNone : model.strings.Get(model.api.name[rows[row]]);
  };
  const auto wait_correlation = [&model](size_t row) {
    const uint32_t waiter = model.jobs.wait_api_row[row];
    return waiter == model::kNoRow ? std::nullopt : std::optional(model.api.correlation[waiter]);
  };
  return TableBuilder("jobs", jobs.size())
      .Text("device", Of(jobs.device),
            [&](size_t row) -> const std::string& { return DeviceName(model, jobs.device[row]); })
      .Number("job", jobs.job)
      .Number("context", jobs.context)
      .Number("queue", jobs.queue)
      .Number("sequence", jobs.sequence)
      .Number("correlation", jobs.correlation)
      .Number("host_correlation", jobs.host_correlation)
      .Number("on_host", jobs.on_host)
      .Number("on_device", jobs.on_device)
      .Number("pid", jobs.pid)
      .Number("tid", jobs.tid)
      .Text("api_name",
            [&jobs, call](size_t row) -> const std::string& { return call(jobs.api_row, row); })
      .Text(
          "wait_api_name",
          [&jobs, call](size_t row) -> const std::string& { return call(jobs.wait_api_row, row); })
      .Add("wait_correlation", Type::kInteger, wait_correlation)
      .Number("commands_submitted", jobs.commands_submitted)
      .Number("commands_retired", jobs.commands_retired)
      .Number("copy_bytes", jobs.copy_bytes)
      .Text("status", Of(jobs.device, jobs.status),
            [&](size_t row) -> const std::string& {
              return model.devices[jobs.device[row]].StatusName(jobs.status[row]);
            })
      .Time("submit_ns", jobs.submit_ns)
      .Time("doorbell_ns", jobs.doorbell_ns)
      .Time("submit_end_ns", jobs.submit_end_ns)
      .Time("device_doorbell", jobs.doorbell, &jobs.on_device)
      .Time("fetched", jobs.fetched, &jobs.on_device)
      .Time("first_start", jobs.first_start, &jobs.on_device)
      .Time("last_end", jobs.last_end, &jobs.on_device)
      .Time("completion", jobs.completion, &jobs.on_device)
      .Time("device_irq", jobs.irq, &jobs.has_irq)
      .Time("irq_ns", jobs.irq_ns)
      .Time("consumed_ns", jobs.complete_ns)
      .Time("wait_ns", jobs.wait_ns)
      .Time("wake_ns", jobs.wake_ns)
      .Done();
}

// Names of columns that come from the trace. In SQL, A and a are the same name.
class ColumnNames {
 public:
  std::string Unused(std::string name) {
    for (char& c : name) {
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    }
    std::string found = name;
    for (int n = 2; !used_.insert(Lower(found)).second; ++n) found = name + "_" + std::to_string(n);
    return found;
  }

 private:
  static std::string Lower(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
  }
  std::set<std::string> used_;
};

// A cause of stalls: its name, and its index among the device's causes with that name.
using Cause = std::pair<std::string, size_t>;

std::vector<std::vector<Cause>> CausesByDevice(const model::Model& model) {
  std::vector<std::vector<Cause>> by_device;
  for (const model::Device& device : model.devices) {
    std::map<std::string, size_t> seen;
    auto& own = by_device.emplace_back();
    for (const std::string& name : device.about.stalls()) own.emplace_back(name, seen[name]++);
  }
  return by_device;
}

PlainTable Commands(const model::Model& model) {
  const model::Commands& commands = model.commands;
  const auto device = [&model](size_t row) -> const model::Device& {
    return model.devices[model.commands.device[row]];
  };
  // It is large, so it is only created on first use.
  using analysis::CommandCursor;
  const Lazy<std::shared_ptr<CommandCursor>> cursor(
      [&model] { return std::make_shared<CommandCursor>(model); });
  TableBuilder table("commands", commands.size());
  table.Text("device", Of(commands.device),
             [device](size_t row) -> const std::string& { return device(row).about.name(); });
  model::EachCommandColumn([&]<typename T>(const model::CommandColumn<T>& column) {
    if (column.name.empty()) return;
    const model::Column<T>& values = commands.*column.values;
    const std::string name(column.name);
    if (column.name == "tag") {  // its name comes first
      table.Text("op", Of(commands.op), [&model](size_t row) -> const std::string& {
        return model.strings.Get(model.commands.op[row]);
      });
    }
    if constexpr (std::is_same_v<T, uint32_t>) {
      if (column.names != model::DeviceNames::kNone) {
        table.Text(name, Of(commands.device, values),
                   [device, &values, names = column.names](size_t row) -> const std::string& {
                     return device(row).NameOf(names, values[row]);
                   });
        return;
      }
    }
    table.Number(name, values);
  });
  table.Time("fetched", commands.fetched)
      .Time("head", commands.head)
      .Time("start", commands.start)
      .Time("end", commands.end)
      .Add("busy_ticks", Type::kInteger,
           [cursor](size_t row) { return (*cursor)->BusyTicks(row); });
  // A column for each cause of any device.
  const std::vector<std::vector<Cause>> by_device = CausesByDevice(model);
  std::vector<Cause> causes;
  for (const std::vector<Cause>& own : by_device) {
    for (const Cause& cause : own) {
      if (std::find(causes.begin(), causes.end(), cause) == causes.end()) causes.push_back(cause);
    }
  }
  // More causes only occur in damaged data; the table `stalls` has all of them.
  constexpr size_t kMaxCauses = 256;
  if (causes.size() > kMaxCauses) causes.resize(kMaxCauses);
  ColumnNames names;
  for (const Cause& cause : causes) {
    // By device: the index of the cause, or -1 if it has none of that name.
    std::vector<int> places;
    for (const std::vector<Cause>& own : by_device) {
      const auto found = std::find(own.begin(), own.end(), cause);
      places.push_back(found == own.end() ? -1 : static_cast<int>(found - own.begin()));
    }
    table.Add(names.Unused("stall_" + cause.first + "_ticks"), Type::kInteger,
              [cursor, places](size_t row) -> std::optional<uint64_t> {
                CommandCursor& at = **cursor;
                const int place = places[at.device[row]];
                if (place < 0) return {};
                return at.StallTicks(row, static_cast<size_t>(place));
              });
  }
  return table.Done();
}

// One row for each value, because devices have different counters. The values are located on first
// use.
struct CounterValue {
  uint32_t device, sample, counter;
};

std::vector<CounterValue> FindCounterValues(const model::Model& model) {
  std::vector<CounterValue> values;
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    const model::CounterSamples& samples = model.devices[d].counters;
    for (uint32_t s = 0; s < samples.size(); ++s) {
      for (const model::CounterSamples::Entry& entry : samples.sets[samples.set[s]]) {
        values.push_back({d, s, entry.counter});
      }
    }
  }
  return values;
}

PlainTable Counters(const model::Model& model) {
  using Value = CounterValue;
  const Lazy<std::vector<Value>> values([&model] { return FindCounterValues(model); });
  const auto of = [&model, values](auto get) {
    return [&model, values, get](size_t row) {
      const Value& value = (*values)[row];
      return get(model.devices[value.device], value);
    };
  };
  TableBuilder table("counters", [values] { return values->size(); });
  table.Text("device", [&model, values](size_t row) -> const std::string& {
    return model.devices[(*values)[row].device].about.name();
  });
  using D = model::Device;
  const auto add = [&](const char* name, Type type, auto get) { table.Add(name, type, of(get)); };
  add("time_raw_ticks", Type::kInteger,
      [](const D& d, const Value& v) { return d.counters.time.RawTicks(v.sample); });
  add("time_ticks", Type::kInteger,
      [](const D& d, const Value& v) { return d.counters.time.ticks[v.sample]; });
  const auto bound = [&](const char* name, int64_t model::Interval::*part) {
    add(name, Type::kInteger, [part](const D& d, const Value& v) {
      const model::Interval at = d.counters.time.host[v.sample];
      return analysis::IfKnown(at.*part, at.mid_ns);
    });
  };
  bound("time_ns", &model::Interval::mid_ns);
  bound("time_lo_ns", &model::Interval::lo_ns);
  bound("time_hi_ns", &model::Interval::hi_ns);
  add("host_before_ns", Type::kInteger,
      [](const D& d, const Value& v) { return HostTime(d.counters.host_before_ns[v.sample]); });
  add("host_after_ns", Type::kInteger,
      [](const D& d, const Value& v) { return HostTime(d.counters.host_after_ns[v.sample]); });
  add("counter", Type::kText, [](const D& d, const Value& v) {
    return Cell{std::string_view(d.about.counters(static_cast<int>(v.counter)).name())};
  });
  add("unit", Type::kText, [](const D& d, const Value& v) {
    return Cell{std::string_view(d.about.counters(static_cast<int>(v.counter)).unit())};
  });
  add("value", Type::kInteger,
      [](const D& d, const Value& v) { return d.counters.At(v.sample, v.counter); });
  return table.Done();
}

PlainTable DeviceEvents(const model::Model& model) {
  const model::DeviceEvents& events = model.device_events;
  return TableBuilder("device_events", events.size())
      .Text("device",
            [&](size_t row) -> const std::string& { return DeviceName(model, events.device[row]); })
      .Text("kind",
            [&](size_t row) -> const std::string& { return DeviceEventKind(events.kind[row]); })
      .Time("time", events.time)
      .Number("arg0", events.arg0)
      .Number("arg1", events.arg1)
      .Number("arg2", events.arg2)
      .Done();
}

// Times of losses on the host are exact.
PlainTable Losses(const model::Model& model) {
  const auto bound = [&model](int64_t model::Loss::*exact, clock::DeviceTime model::Loss::*time,
                              int64_t model::Interval::*part) {
    return [&model, exact, time, part](size_t row) -> std::optional<int64_t> {
      const model::Loss& loss = model.losses[row];
      if (!loss.has_times) return HostTime(loss.*exact);
      const model::Interval at = (loss.*time).host;
      return analysis::IfKnown(at.*part, at.mid_ns);
    };
  };
  return TableBuilder("losses", model.losses.size())
      .Text("hop",
            [&](size_t row) -> const std::string& {
              return model.strings.Get(model.losses[row].hop);
            })
      .Add("count", Type::kInteger, [&](size_t row) -> Cell { return model.losses[row].count; })
      .Add("first_ns", Type::kInteger,
           [&](size_t row) { return HostTime(model.losses[row].first_ns); })
      .Add("first_lo_ns", Type::kInteger,
           bound(&model::Loss::first_ns, &model::Loss::first, &model::Interval::lo_ns))
      .Add("first_hi_ns", Type::kInteger,
           bound(&model::Loss::first_ns, &model::Loss::first, &model::Interval::hi_ns))
      .Add("last_ns", Type::kInteger,
           [&](size_t row) { return HostTime(model.losses[row].last_ns); })
      .Add("last_lo_ns", Type::kInteger,
           bound(&model::Loss::last_ns, &model::Loss::last, &model::Interval::lo_ns))
      .Add("last_hi_ns", Type::kInteger,
           bound(&model::Loss::last_ns, &model::Loss::last, &model::Interval::hi_ns))
      .Done();
}

}  // namespace

std::vector<PlainTable> PlainTables(const model::Model& model) {
  std::vector<PlainTable> tables;
  for (auto* table : {Devices, Processes, Api, Ranges, HostEvents, Jobs, Commands, Counters,
                      DeviceEvents, Losses}) {
    tables.push_back(table(model));
  }
  return tables;
}

}  // namespace acceltrace::query
