// SPDX-License-Identifier: Apache-2.0
//
// Adds the devices' part of the graph: fetches, commands and completions.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/radix.h"
#include "libtrace/analysis/whatif/graph_builder.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {
namespace {

constexpr size_t kMaxUnits = 32;
// How far back in its queue to look for a command that had ended when another one started.
constexpr int kLookBack = 8;

class DeviceEdges {
 public:
  DeviceEdges(const model::Model& model, const DeviceNodes& nodes, GraphBuilder* builder)
      : model_(model),
        nodes_(nodes),
        builder_(*builder),
        graph_(builder->graph()),
        at_(model),
        ready_ns_(model.commands.size()) {
    for (const model::Device& device : model.devices) {
      const uint64_t hz = device.about.clock().nominal_hz();
      tick_ns_.push_back(hz > 0 ? std::max(1.0, 1e9 / static_cast<double>(hz)) : 1);
    }
  }

  void Run() {
    std::vector<double> link_latency_ns(model_.devices.size());
    for (size_t q = 0; q + 1 < nodes_.queue_begin.size(); ++q) {
      Fetches(nodes_.queue_begin[q], nodes_.queue_begin[q + 1], &link_latency_ns);
      Orders(nodes_.queue_begin[q], nodes_.queue_begin[q + 1]);
    }
    Units();
    Completions();
    graph_.demands = ComputeDemands(model_, link_latency_ns, &graph_.rates);
  }

 private:
  uint32_t Command(size_t place) const { return nodes_.in_queue[place]; }
  uint32_t StartOf(uint32_t command) const { return graph_.start_of[command]; }
  uint32_t EndOf(uint32_t command) const { return graph_.start_of[command] + 1; }
  // Returns the length of a tick of the command's device.
  double TickNs(uint32_t command) { return tick_ns_[at_.device[command]]; }

  // Adds fetches. Each one follows the doorbells of its jobs, the previous fetch, and the release
  // of space on the chip.
  void Fetches(size_t begin, size_t end, std::vector<double>* link_latency_ns) {
    const uint32_t device = model_.commands.device[Command(begin)];
    bool known;
    const uint64_t window = Window(begin, end, &known);
    // The command that ended last among those that must have retired.
    uint32_t room = Graph::kNone;
    size_t retired = begin;
    uint32_t before = Graph::kNone;
    uint32_t rung = model::kNoRow;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t command = Command(i);
      const uint32_t node = nodes_.fetch_of[command];
      const uint32_t job = at_.job_row[command];
      builder_.Edge(node, StartOf(command));
      if (node != before) rung = model::kNoRow;
      if (job != model::kNoRow && job != rung) {
        rung = job;
        const double flight = DoorbellNs(job);
        builder_.Edge(nodes_.doorbell[job], node, flight, kByDoorbell);
      }
      if (node == before) continue;
      builder_.SetCause(node, kByFetch);
      builder_.Edge(before, node);
      size_t last = i;
      while (last + 1 < end && nodes_.fetch_of[Command(last + 1)] == node) ++last;
      for (; retired + window <= last; ++retired) {
        const uint32_t end_node = EndOf(Command(retired));
        if (room == Graph::kNone || builder_.At(end_node) >= builder_.At(room)) room = end_node;
      }
      builder_.Edge(room, node, 0, kByOrder, 0, known ? Hold::kKnown : Hold::kAssumed);
      const double took_ns = builder_.At(node) - ReadyToFetchNs(i, last, before);
      if (took_ns > 0 &&
          ((*link_latency_ns)[device] == 0 || took_ns < (*link_latency_ns)[device])) {
        (*link_latency_ns)[device] = took_ns;
      }
      before = node;
    }
  }

  // Returns how many commands of a queue can be on the chip: as reported by the device, or the
  // highest number observed.
  uint64_t Window(size_t begin, size_t end, bool* known) const {
    const model::Commands& commands = model_.commands;
    const uint32_t by_device = model_.devices[commands.device[Command(begin)]].about.queue_window();
    *known = by_device > 0;
    if (*known) return by_device;
    uint64_t most = 1;
    size_t retired = begin;
    for (size_t i = begin; i < end; ++i) {
      const double at_ns = builder_.At(nodes_.fetch_of[Command(i)]);
      while (retired < i && builder_.At(EndOf(Command(retired))) <= at_ns) ++retired;
      most = std::max<uint64_t>(most, i + 1 - retired);
    }
    return most;
  }

  // Returns the earliest time at which a fetch could begin.
  double ReadyToFetchNs(size_t first, size_t last, uint32_t before) {
    double ready_ns = before == Graph::kNone ? 0 : builder_.At(before);
    uint32_t known = model::kNoRow;  // the previous job
    for (size_t i = first; i <= last; ++i) {
      const uint32_t job = at_.job_row[Command(i)];
      if (job == known || job == model::kNoRow || !model_.jobs.on_device[job]) continue;
      known = job;
      ready_ns = std::max(ready_ns, builder_.Since(model_.jobs.doorbell.host[job].mid_ns));
    }
    return ready_ns;
  }

  double DoorbellNs(uint32_t job) const {
    const uint32_t node = nodes_.doorbell[job];
    if (node == Graph::kNone || !model_.jobs.on_device[job]) return 0;
    return builder_.Since(model_.jobs.doorbell.host[job].mid_ns) - builder_.At(node);
  }

  // Adds dependencies on commands of other units: for each unit, on the last command of the same
  // queue that had ended.
  void Orders(size_t begin, size_t end) {
    const model::Commands& commands = model_.commands;
    const uint32_t device = commands.device[Command(begin)];
    const uint32_t fifo = model_.devices[device].about.queue_fifo();
    // Separate streams if the trace has them, since streams in the same queue do not wait for each
    // other.
    using ByUnit = std::array<std::vector<uint32_t>, kMaxUnits>;
    std::unordered_map<uint32_t, ByUnit> by_stream;
    ByUnit* of_stream = nullptr;  // of the previous command
    uint32_t last_stream = 0;
    ByUnit by_unit;
    // Commands go to their units in order: each one waits until all earlier ones have found a
    // place.
    uint32_t placed = Graph::kNone;
    uint32_t units = 0;  // number of units seen so far
    for (size_t i = begin; i < end; ++i) {
      const uint32_t command = Command(i);
      const uint32_t own = std::min<uint32_t>(at_.unit[command], kMaxUnits - 1);
      const uint32_t stream = StreamOf(command), own_job = at_.job_row[command];
      if (of_stream == nullptr || stream != last_stream) of_stream = &by_stream[stream];
      last_stream = stream;
      units = std::max(units, own + 1);
      const double start_ns = builder_.At(StartOf(command));
      ByUnit& before = *of_stream;
      for (uint32_t unit = 0; unit < units; ++unit) {
        if (unit == own) continue;
        const std::vector<uint32_t>& row = before[unit];
        for (int back = 0; back < kLookBack && back < static_cast<int>(row.size()); ++back) {
          const uint32_t other = row[row.size() - 1 - static_cast<size_t>(back)];
          const double end_ns = builder_.At(EndOf(other));
          if (end_ns > start_ns) continue;
          const bool binds = end_ns >= start_ns - TickNs(command);
          const bool other_job = at_.job_row[other] != own_job;
          builder_.Edge(EndOf(other), StartOf(command), 0, kByOrder, 0,
                        binds || other_job ? Hold::kKnown : Hold::kAssumed);
          ready_ns_[command] = std::max(ready_ns_[command], end_ns);
          break;
        }
      }
      std::vector<uint32_t>& row = by_unit[own];
      // The unit has a limited number of places for waiting commands.
      if (fifo > 0 && row.size() >= fifo) {
        const uint32_t left = StartOf(row[row.size() - fifo]);
        if (placed == Graph::kNone || builder_.At(left) > builder_.At(placed)) placed = left;
      }
      if (placed != Graph::kNone && builder_.At(placed) <= start_ns) {
        builder_.Edge(placed, StartOf(command));
      }
      if (!row.empty()) builder_.Edge(EndOf(row.back()), StartOf(command));
      row.push_back(command);
      before[own].push_back(command);
    }
  }

  // 0 means not known.
  uint32_t StreamOf(uint32_t command) {
    const uint32_t job = at_.job_row[command];
    const uint32_t call = job == model::kNoRow ? model::kNoRow : at_.api_row[job];
    return call == model::kNoRow ? 0 : at_.stream[call];
  }

  // Adds the order of commands on each unit. Also adds dependencies on commands that ended at the
  // very tick at which a waiting command of another queue continued.
  void Units() {
    const std::vector<uint32_t> order = ByStart();
    uint32_t met = 0;  // number of units seen so far
    std::vector<std::array<uint32_t, kMaxUnits>> last(model_.devices.size());
    for (auto& units : last) units.fill(model::kNoRow);
    for (const uint32_t command : order) {
      auto& units = last[at_.device[command]];
      const uint32_t own = std::min<uint32_t>(at_.unit[command], kMaxUnits - 1);
      const uint32_t queue = at_.queue[command];
      met = std::max(met, own + 1);
      if (units[own] != model::kNoRow && at_.queue[units[own]] != queue) {
        builder_.Edge(EndOf(units[own]), StartOf(command), 0, kByOrder, 0, Hold::kTurn);
      }
      // Only if nothing else explains the start, since commands end all the time.
      const double start_ns = builder_.At(StartOf(command));
      double ready_ns = std::max(ready_ns_[command], builder_.At(nodes_.fetch_of[command]));
      if (units[own] != model::kNoRow)
        ready_ns = std::max(ready_ns, builder_.At(EndOf(units[own])));
      const bool waited =
          start_ns - ready_ns > TickNs(command) && at_.head[command] != at_.start[command];
      for (uint32_t unit = 0; waited && unit < met; ++unit) {
        const uint32_t other = units[unit];
        if (unit == own || other == model::kNoRow) continue;
        if (at_.queue[other] == queue && StreamOf(other) == StreamOf(command)) continue;
        const double gap = start_ns - builder_.At(EndOf(other));
        if (gap >= 0 && gap <= TickNs(command)) builder_.Edge(EndOf(other), StartOf(command));
      }
      units[own] = command;
    }
  }

  // Returns commands sorted by start and end.
  std::vector<uint32_t> ByStart() const {
    std::vector<uint32_t> order;
    order.reserve(model_.commands.size());
    bool whole = true;
    for (uint32_t c = 0; c < model_.commands.size(); ++c) {
      if (StartOf(c) == Graph::kNone) continue;
      order.push_back(c);
      whole &= std::abs(builder_.At(StartOf(c))) < kWhole;
    }
    const auto start = [&](uint32_t c) { return builder_.At(StartOf(c)); };
    const auto end = [&](uint32_t c) { return builder_.At(EndOf(c)); };
    if (!whole) {
      model::SortByKey([&](uint32_t c) { return std::pair(start(c), end(c)); }, &order);
      return order;
    }
    // All times are whole ns since the begin of the run.
    SortByNumber([&](uint32_t c) { return static_cast<uint64_t>(start(c) + kWhole); }, &order);
    for (size_t i = 0; i < order.size();) {
      size_t next = i + 1;
      while (next < order.size() && start(order[next]) == start(order[i])) ++next;
      std::stable_sort(order.begin() + static_cast<ptrdiff_t>(i),
                       order.begin() + static_cast<ptrdiff_t>(next),
                       [&](uint32_t a, uint32_t b) { return end(a) < end(b); });
      i = next;
    }
    return order;
  }
  // Up to this value, doubles represent whole ns and their differences exactly.
  static constexpr double kWhole = 4e15;

  void Completions() {
    const model::Jobs& jobs = model_.jobs;
    std::vector<uint32_t> order;
    for (uint32_t j = 0; j < jobs.size(); ++j) {
      if (nodes_.completion[j] != Graph::kNone) order.push_back(j);
    }
    model::SortByKey(
        [&](uint32_t j) {
          return std::tuple(jobs.device[j], jobs.queue[j], jobs.sequence[j], jobs.job[j]);
        },
        &order);
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t job = order[i], node = nodes_.completion[job];
      builder_.SetCause(node, kByCompletion);
      if (i > 0 && jobs.device[order[i - 1]] == jobs.device[job] &&
          jobs.queue[order[i - 1]] == jobs.queue[job]) {
        builder_.Edge(nodes_.completion[order[i - 1]], node);
      }
      const uint32_t first = jobs.first_command[job];
      for (uint32_t c = first; c < first + jobs.num_commands[job]; ++c) {
        if (StartOf(c) != Graph::kNone) builder_.Edge(EndOf(c), node);
      }
    }
  }

  const model::Model& model_;
  const DeviceNodes& nodes_;
  GraphBuilder& builder_;
  Graph& graph_;
  // Columns of commands, their jobs and their calls.
  struct Columns {
    explicit Columns(const model::Model& model)
        : device(model.commands.device),
          unit(model.commands.unit),
          queue(model.commands.queue),
          job_row(model.commands.job_row),
          api_row(model.jobs.api_row),
          stream(model.api.stream),
          head(model.commands.head.ticks),
          start(model.commands.start.ticks) {}
    Cursor<uint32_t> device, unit, queue, job_row, api_row, stream;
    Cursor<uint64_t> head, start;
  };
  Columns at_;
  std::vector<double> tick_ns_;   // by device
  std::vector<double> ready_ns_;  // when the other commands of the queue had ended, by command
};

}  // namespace

DeviceNodes AddDeviceNodes(const model::Model& model, GraphBuilder* builder) {
  const model::Commands& commands = model.commands;
  const model::Jobs& jobs = model.jobs;
  DeviceNodes nodes;
  nodes.fetch_of.assign(commands.size(), Graph::kNone);
  nodes.completion.assign(jobs.size(), Graph::kNone);
  nodes.doorbell.assign(jobs.size(), Graph::kNone);
  std::vector<uint32_t>& order = nodes.in_queue;
  order.resize(commands.size());
  std::iota(order.begin(), order.end(), 0);
  Cursor<uint32_t> device(commands.device), queue(commands.queue), job_row(commands.job_row);
  Cursor<uint32_t> job_number(commands.job), index(commands.index);
  Cursor<uint64_t> sequences(jobs.sequence), fetched(commands.fetched.ticks);
  const auto sequence = [&](uint32_t c) {
    const uint32_t job = job_row[c];
    return job == model::kNoRow ? UINT64_MAX : sequences[job];
  };
  model::SortByKey(
      [&](uint32_t c) {
        return std::tuple(device[c], queue[c], sequence(c), job_number[c], index[c]);
      },
      &order);
  Graph& graph = builder->graph();
  graph.start_of.assign(commands.size(), Graph::kNone);
  const auto at = [&](const model::DeviceTimes& times, size_t row) {
    return builder->Since(times.host[row].mid_ns);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t c = order[i], before = i > 0 ? order[i - 1] : c, of = device[c];
    const bool same_queue = i > 0 && device[before] == of && queue[before] == queue[c];
    if (!same_queue) nodes.queue_begin.push_back(i);
    if (same_queue && fetched[before] == fetched[c]) {
      nodes.fetch_of[c] = nodes.fetch_of[before];
    } else {
      nodes.fetch_of[c] = builder->Node(Graph::Kind::kFetch, c, at(commands.fetched, c), of);
    }
    graph.start_of[c] = builder->Node(Graph::Kind::kStart, c, at(commands.start, c), of);
    const uint32_t end = builder->Node(Graph::Kind::kEnd, c, at(commands.end, c), of);
    builder->SetCause(end, kByCommand);
    builder->Edge(graph.start_of[c], end, 0, kByCommand);
  }
  if (!order.empty()) nodes.queue_begin.push_back(order.size());
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (jobs.on_device[j]) {
      nodes.completion[j] =
          builder->Node(Graph::Kind::kCompletion, j, at(jobs.completion, j), jobs.device[j]);
    }
  }
  return nodes;
}

void AddDeviceEdges(const model::Model& model, const DeviceNodes& device, GraphBuilder* builder) {
  std::make_unique<DeviceEdges>(model, device, builder)->Run();
}

}  // namespace acceltrace::analysis
