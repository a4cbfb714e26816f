// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "libtrace/view/common/page_columns.h"

namespace acceltrace::view {
namespace {

// Finds the position in the page of a row of the model.
class Places {
 public:
  explicit Places(const std::vector<uint32_t>& rows) : rows_(rows) {}
  int64_t Of(uint32_t row) const {
    const auto found = std::lower_bound(rows_.begin(), rows_.end(), row);
    return found != rows_.end() && *found == row ? found - rows_.begin() : -1;
  }
  // Returns the position of the first row that is not before `row`.
  size_t From(uint32_t row) const {
    return static_cast<size_t>(std::lower_bound(rows_.begin(), rows_.end(), row) - rows_.begin());
  }

 private:
  const std::vector<uint32_t>& rows_;
};

class Tables {
 public:
  Tables(const analysis::Report& report, const PageRows& rows, const analysis::TracerWork& work,
         const PagePath& path, int64_t base_ns, PageNames* names, const PageTracks* tracks)
      : report_(report),
        model_(*report.model),
        rows_(rows),
        work_(work),
        path_(path),
        base_ns_(base_ns),
        names_(names),
        tracks_(tracks) {}

  std::string Json() {
    std::string json = "{";
    const auto add = [&json](const char* name, const std::string& table) {
      // Append in place, since there may be megabytes.
      json += fmt::format("{}\"{}\":", json.size() > 1 ? "," : "", name);
      json += table;
    };
    add("api", Api());
    add("ranges", Ranges());
    add("jobs", Jobs());
    add("commands", Commands());
    add("host", Host());
    add("device_events", DeviceEvents());
    add("losses", Losses());
    add("pieces", Pieces());
    add("recorder", Recorder());
    add("path", Path());
    add("nodes", Nodes());
    add("edges", Edges());
    json += '}';
    return json;
  }

 private:
  int64_t At(int64_t time_ns) const { return Less(time_ns, base_ns_); }
  std::optional<int64_t> Maybe(int64_t time_ns) const {
    if (time_ns == model::kNoTime) return std::nullopt;
    return At(time_ns);
  }

  // Adds the rows' numbers in the model, and the lanes in which they are drawn.
  void AddPlaces(PageTableId id, PageTable* table) const {
    if (tracks_ == nullptr) return;
    table->Delta("id", [](uint32_t i) { return i; });
    for (int k = 0; k < kNumPageKinds; ++k) {
      const auto kind = static_cast<PageKind>(k);
      if (AboutKind(kind).table != id || !tracks_->HasLanes(kind)) continue;
      table->Plain(fmt::format("lane_{}", AboutKind(kind).name),
                   [&](uint32_t i) { return tracks_->LaneOf(kind, i); });
    }
  }

  // Adds a device time of each row. Rows without that time get the model's default.
  void AddTime(const std::string& name, const model::DeviceTimes& times, PageTable* table) const {
    table->Delta(name, [&](uint32_t i) { return At(times.host[i].mid_ns); });
    table->Plain(name + "_lo",
                 [&](uint32_t i) { return Less(times.host[i].mid_ns, times.host[i].lo_ns); });
    table->Plain(name + "_hi",
                 [&](uint32_t i) { return Less(times.host[i].hi_ns, times.host[i].mid_ns); });
    table->Delta(name + "_raw", [&](uint32_t i) { return times.RawTicks(i); });
  }

  std::string Api() {
    const model::ApiCalls& api = model_.api;
    PageTable table(rows_.api, api.size());
    AddPlaces(kApiTable, &table);
    table.Delta("begin", [&](uint32_t i) { return At(api.begin_ns[i]); });
    table.Plain("length", [&](uint32_t i) { return Less(api.end_ns[i], api.begin_ns[i]); });
    table.Delta("pid", [&](uint32_t i) { return api.pid[i]; });
    table.Delta("tid", [&](uint32_t i) { return api.tid[i]; });
    table.Plain("name", [&](uint32_t i) { return names_->Of(api.name[i]); });
    table.Plain("stream", [&](uint32_t i) { return api.stream[i]; });
    table.Delta("correlation", [&](uint32_t i) { return api.correlation[i]; });
    table.Plain("bytes", [&](uint32_t i) { return api.bytes[i]; });
    table.Plain("result", [&](uint32_t i) { return api.result[i]; });
    table.Plain("flags", [&](uint32_t i) {
      return (api.open[i] != 0 ? 1u : 0u) | (api.began_before[i] != 0 ? 2u : 0u) |
             (path_.api[i] != 0 ? 4u : 0u);
    });
    return table.Json();
  }

  std::string Ranges() {
    const model::Ranges& ranges = model_.ranges;
    PageTable table(rows_.ranges, ranges.size());
    AddPlaces(kRangesTable, &table);
    table.Delta("begin", [&](uint32_t i) { return At(ranges.begin_ns[i]); });
    table.Plain("length", [&](uint32_t i) { return Less(ranges.end_ns[i], ranges.begin_ns[i]); });
    table.Delta("pid", [&](uint32_t i) { return ranges.pid[i]; });
    table.Delta("tid", [&](uint32_t i) { return ranges.tid[i]; });
    table.Plain("name", [&](uint32_t i) { return names_->Of(ranges.name[i]); });
    table.Plain("depth", [&](uint32_t i) { return ranges.depth[i]; });
    table.Plain("flags", [&](uint32_t i) {
      return (ranges.open[i] != 0 ? 1u : 0u) | (ranges.began_before[i] != 0 ? 2u : 0u) |
             (ranges.mark[i] != 0 ? 4u : 0u);
    });
    return table.Json();
  }

  std::string Jobs() {
    const model::Jobs& jobs = model_.jobs;
    PageTable table(rows_.jobs, jobs.size());
    AddPlaces(kJobsTable, &table);
    const Places api(rows_.api), commands(rows_.commands);
    const auto plain = [&](const char* name, const auto& column) {
      table.Plain(name, [&column](uint32_t i) { return column[i]; });
    };
    plain("device", jobs.device), plain("context", jobs.context), plain("queue", jobs.queue);
    table.Delta("job", [&](uint32_t i) { return jobs.job[i]; });
    table.Delta("sequence", [&](uint32_t i) { return jobs.sequence[i]; });
    table.Delta("correlation", [&](uint32_t i) {
      return jobs.on_device[i] != 0 ? jobs.correlation[i] : jobs.host_correlation[i];
    });
    table.Plain("flags", [&](uint32_t i) {
      return (jobs.on_host[i] != 0 ? 1u : 0u) | (jobs.on_device[i] != 0 ? 2u : 0u) |
             (jobs.has_irq[i] != 0 ? 4u : 0u);
    });
    table.Plain("critical", [&](uint32_t i) { return path_.jobs[i]; });
    plain("pid", jobs.pid), plain("tid", jobs.tid), plain("status", jobs.status);
    plain("commands_submitted", jobs.commands_submitted);
    plain("commands_retired", jobs.commands_retired), plain("copy_bytes", jobs.copy_bytes);
    const auto host = [&](const char* name, const model::Column<int64_t>& column) {
      table.Optional(name, [&](uint32_t i) { return Maybe(column[i]); });
    };
    host("submit", jobs.submit_ns), host("ring", jobs.doorbell_ns);
    host("submit_end", jobs.submit_end_ns), host("handler", jobs.irq_ns);
    host("consumed", jobs.complete_ns), host("wait", jobs.wait_ns), host("wake", jobs.wake_ns);
    AddTime("doorbell", jobs.doorbell, &table);
    AddTime("fetched", jobs.fetched, &table);
    AddTime("start", jobs.first_start, &table);
    AddTime("end", jobs.last_end, &table);
    AddTime("completion", jobs.completion, &table);
    AddTime("irq", jobs.irq, &table);
    table.Plain("api", [&](uint32_t i) { return api.Of(jobs.api_row[i]); });
    table.Plain("wait_api", [&](uint32_t i) { return api.Of(jobs.wait_api_row[i]); });
    // The thread that waited, for pages that do not include the call itself.
    const auto waiter = [&](const char* name, const model::Column<uint32_t>& column) {
      table.Plain(name, [&](uint32_t i) -> int64_t {
        const uint32_t row = jobs.wait_api_row[i];
        return row == model::kNoRow ? -1 : int64_t{column[row]};
      });
    };
    waiter("waiter_pid", model_.api.pid), waiter("waiter_tid", model_.api.tid);
    table.Plain("commands", [&](uint32_t i) { return jobs.num_commands[i]; });
    table.Delta("first_command", [&](uint32_t i) {
      return jobs.num_commands[i] == 0 ? 0 : commands.From(jobs.first_command[i]);
    });
    table.Plain("commands_here", [&](uint32_t i) -> uint64_t {
      if (jobs.num_commands[i] == 0) return 0;
      return commands.From(jobs.first_command[i] + jobs.num_commands[i]) -
             commands.From(jobs.first_command[i]);
    });
    return table.Json();
  }

  std::string Commands() {
    const model::Commands& commands = model_.commands;
    PageTable table(rows_.commands, commands.size());
    AddPlaces(kCommandsTable, &table);
    const Places jobs(rows_.jobs);
    const auto plain = [&](const char* name, const auto& column) {
      table.Plain(name, [&column](uint32_t i) { return column[i]; });
    };
    plain("device", commands.device), plain("unit", commands.unit);
    plain("context", commands.context), plain("queue", commands.queue);
    table.Delta("job", [&](uint32_t i) { return commands.job[i]; });
    plain("index", commands.index), plain("opcode", commands.opcode);
    plain("status", commands.status), plain("limiter", commands.limiter);
    table.Plain("op", [&](uint32_t i) { return names_->Of(commands.op[i]); });
    table.Delta("correlation", [&](uint32_t i) { return commands.correlation[i]; });
    plain("work", commands.work), plain("bytes", commands.bytes);
    plain("memory_bytes", commands.memory_bytes);
    plain("row_hits", commands.row_hits), plain("row_misses", commands.row_misses);
    AddTime("fetched", commands.fetched, &table);
    AddTime("head", commands.head, &table);
    AddTime("start", commands.start, &table);
    AddTime("end", commands.end, &table);
    int causes = 0;
    for (const model::Device& device : model_.devices) {
      causes = std::max(causes, device.about.stalls_size());
    }
    for (int s = 0; s < causes; ++s) {
      table.Plain(fmt::format("stall{}", s), [&](uint32_t i) -> uint64_t {
        const int mine = model_.devices[commands.device[i]].about.stalls_size();
        return s < mine ? model_.Stalls(i)[s] : 0;
      });
    }
    table.Optional("busy", [&](uint32_t i) -> std::optional<int64_t> {
      const auto busy_ticks = model_.BusyTicks(i);
      if (!busy_ticks) return std::nullopt;
      return static_cast<int64_t>(*busy_ticks);
    });
    table.Delta("job_row", [&](uint32_t i) { return jobs.Of(commands.job_row[i]); });
    table.Plain("critical", [&](uint32_t i) { return path_.commands[i]; });
    // The distance in the page, in rows; 0 if there is none or it is not included.
    const Places places(rows_.commands);
    table.Plain("after", [&](uint32_t i) -> int64_t {
      const int64_t before = path_.after[i] == model::kNoRow ? -1 : places.Of(path_.after[i]);
      return before < 0 ? 0 : places.Of(i) - before;
    });
    return table.Json();
  }

  std::string Host() {
    const model::HostEvents& host = model_.host;
    PageTable table(rows_.host, host.size());
    AddPlaces(kHostTable, &table);
    const auto plain = [&](const char* name, const auto& column) {
      table.Plain(name, [&column](uint32_t i) { return column[i]; });
    };
    table.Delta("time", [&](uint32_t i) { return At(host.time_ns[i]); });
    plain("kind", host.kind), plain("cpu", host.cpu), plain("pid", host.pid);
    plain("tid", host.tid), plain("device", host.device), plain("queue", host.queue);
    table.Delta("job", [&](uint32_t i) { return host.job[i]; });
    table.Delta("correlation", [&](uint32_t i) { return host.correlation[i]; });
    plain("arg0", host.arg0), plain("arg1", host.arg1);
    return table.Json();
  }

  std::string DeviceEvents() {
    const model::DeviceEvents& events = model_.device_events;
    PageTable table(rows_.device_events, events.size());
    AddPlaces(kDeviceEventsTable, &table);
    table.Plain("device", [&](uint32_t i) { return events.device[i]; });
    table.Plain("kind", [&](uint32_t i) { return events.kind[i]; });
    AddTime("time", events.time, &table);
    table.Plain("arg0", [&](uint32_t i) { return events.arg0[i]; });
    table.Plain("arg1", [&](uint32_t i) { return events.arg1[i]; });
    table.Plain("arg2", [&](uint32_t i) { return events.arg2[i]; });
    return table.Json();
  }

  std::string Losses() {
    const std::vector<model::Loss>& losses = model_.losses;
    PageTable table(rows_.losses, losses.size());
    AddPlaces(kLossesTable, &table);
    table.Plain("hop", [&](uint32_t i) { return names_->Of(losses[i].hop); });
    table.Plain("count", [&](uint32_t i) { return losses[i].count; });
    table.Optional("first", [&](uint32_t i) { return Maybe(losses[i].first_ns); });
    table.Optional("last", [&](uint32_t i) { return Maybe(losses[i].last_ns); });
    table.Plain("device", [&](uint32_t i) -> int64_t {
      return losses[i].from_device ? static_cast<int64_t>(losses[i].device) : -1;
    });
    return table.Json();
  }

  std::string Pieces() {
    const std::vector<analysis::Piece>& pieces = report_.breakdown.pieces;
    PageTable table(rows_.pieces, pieces.size());
    AddPlaces(kPiecesTable, &table);
    const auto begin_ns = [&](uint32_t i) {
      return i == 0 ? report_.breakdown.begin_ns : pieces[i - 1].end_ns;
    };
    table.Delta("begin", [&](uint32_t i) { return At(begin_ns(i)); });
    table.Plain("length", [&](uint32_t i) { return Less(pieces[i].end_ns, begin_ns(i)); });
    table.Plain("class", [&](uint32_t i) { return static_cast<int>(pieces[i].of); });
    return table.Json();
  }

  std::string Path() {
    const std::vector<PathStep>& steps = path_.steps;
    PageTable table(rows_.path, steps.size());
    AddPlaces(kPathTable, &table);
    const Places api(rows_.api), jobs(rows_.jobs), commands(rows_.commands);
    table.Delta("begin", [&](uint32_t i) { return At(steps[i].begin_ns); });
    table.Plain("length", [&](uint32_t i) { return Less(steps[i].end_ns, steps[i].begin_ns); });
    table.Plain("name", [&](uint32_t i) { return names_->OfText(steps[i].name); });
    table.Plain("event", [&](uint32_t i) { return steps[i].event; });
    table.Plain("row", [&](uint32_t i) -> int64_t {
      const PathStep& step = steps[i];
      if (step.event == PathStep::kNothing) return -1;
      return step.event == PathStep::kApi       ? api.Of(step.row)
             : step.event == PathStep::kCommand ? commands.Of(step.row)
                                                : jobs.Of(step.row);
    });
    return table.Json();
  }

  // The nodes and edges of the dependency graph.
  std::string Nodes() {
    const PageGraph& graph = path_.graph;
    PageTable table(rows_.graph, graph.size());
    const Places api(rows_.api), jobs(rows_.jobs), commands(rows_.commands);
    table.Plain("kind", [&](uint32_t n) { return static_cast<int>(graph.kind[n]); });
    table.Delta("row", [&](uint32_t n) {
      const PageGraph::Kind kind = graph.kind[n];
      return (kind == PageGraph::kThread    ? api
              : kind == PageGraph::kCommand ? commands
                                            : jobs)
          .Of(graph.row[n]);
    });
    table.Delta("begin", [&](uint32_t n) { return At(graph.begin_ns[n]); });
    table.Plain("length", [&](uint32_t n) { return Less(graph.end_ns[n], graph.begin_ns[n]); });
    table.Plain("resumes", [&](uint32_t n) { return graph.resumes[n]; });
    return table.Json();
  }

  std::string Edges() {
    const PageGraph& graph = path_.graph;
    const Places nodes(rows_.graph);
    std::vector<uint32_t> edges;
    for (const uint32_t n : rows_.graph) {
      for (uint32_t e = graph.first_edge[n]; e < graph.first_edge[n + 1]; ++e) {
        if (rows_.binding_only && graph.binding[e] == 0) continue;
        if (nodes.Of(graph.from[e]) >= 0) edges.push_back(e);
      }
    }
    PageTable table(edges, graph.from.size());
    table.Delta("from", [&](uint32_t e) { return nodes.Of(graph.from[e]); });
    table.Delta("to", [&](uint32_t e) { return nodes.Of(graph.to[e]); });
    table.Plain("reason", [&](uint32_t e) { return graph.reason[e]; });
    table.Plain("gap", [&](uint32_t e) { return std::llround(graph.gap_ns[e]); });
    table.Plain("slack", [&](uint32_t e) { return std::llround(graph.slack_ns[e]); });
    table.Plain("binding", [&](uint32_t e) { return graph.binding[e]; });
    return table.Json();
  }

  std::string Recorder() {
    PageTable table(rows_.recorder, work_.recorder().size());
    AddPlaces(kRecorderTable, &table);
    table.Delta("begin", [&](uint32_t i) { return At(work_.recorder()[i].begin_ns); });
    table.Plain("length", [&](uint32_t i) {
      return Less(work_.recorder()[i].end_ns, work_.recorder()[i].begin_ns);
    });
    table.Plain("cpu", [&](uint32_t i) { return work_.recorder()[i].cpu; });
    table.Plain("cpu_ns", [&](uint32_t i) {
      return static_cast<int64_t>(work_.recorder()[i].cpu_ns[analysis::kMid]);
    });
    return table.Json();
  }

  const analysis::Report& report_;
  const model::Model& model_;
  const PageRows& rows_;
  const analysis::TracerWork& work_;
  const PagePath& path_;
  int64_t base_ns_;
  PageNames* names_;
  const PageTracks* tracks_;
};

}  // namespace

uint64_t PageNames::Of(uint32_t id) { return OfLasting(model_.strings.Get(id)); }

uint64_t PageNames::OfText(const std::string& text) {
  const auto found = by_text_.find(text);
  return found != by_text_.end() ? found->second : OfLasting(made_.emplace_back(text));
}

uint32_t PageNames::OfLasting(std::string_view text) {
  const auto [where, fresh] = by_text_.emplace(text, static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return where->second;
}

std::string PageNames::Json(size_t max_bytes) const {
  size_t bytes = 0, longest = 0;
  for (const std::string_view text : texts_) {
    bytes += text.size(), longest = std::max(longest, text.size());
  }
  size_t most = longest;
  if (bytes > max_bytes) most = std::max<size_t>(32, max_bytes / texts_.size());
  std::string json = "[";
  for (const std::string_view text : texts_) {
    if (json.size() > 1) json += ',';
    const size_t half = most / 2;
    json += PageString(text.size() <= most ? std::string(text)
                                           : fmt::format("{}…{}", text.substr(0, half),
                                                         text.substr(text.size() - half)));
  }
  json += ']';
  return json;
}

std::string PageTablesJson(const analysis::Report& report, const PageRows& rows,
                           const analysis::TracerWork& work, const PagePath& path, int64_t base_ns,
                           PageNames* names, const PageTracks* tracks) {
  return Tables(report, rows, work, path, base_ns, names, tracks).Json();
}

}  // namespace acceltrace::view
