// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/edit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {
namespace {

// Limits the jobs in a batch, since the device has nothing to do until it is submitted.
constexpr size_t kBatched = 16;

bool OfHost(Cause cause) { return cause == kBySubmitCall || cause == kByDriver; }

}  // namespace

Editor::Editor(const model::Model& model, Graph* graph)
    : model_(model),
      graph_(*graph),
      submits_(model.api.size()),
      allocates_(model.api.size()),
      waits_(model.api.size()) {
  Cursor<uint32_t> api_row(model.jobs.api_row);
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    if (api_row[j] != model::kNoRow) submits_[api_row[j]] = 1;
  }
  FindEdgesOfCalls();
  FindAllocations();
}

void Editor::FindEdgesOfCalls() {
  first_of_call_.assign(model_.api.size() + 1, 0);
  const auto each = [this](const auto& visit) {
    for (uint32_t e = 0; e < graph_.to.size(); ++e) {
      const uint32_t call = CallOf(graph_.to[e]);
      if (call != model::kNoRow && CallOf(graph_.from[e]) == call) visit(call, e);
    }
  };
  each([this](uint32_t call, uint32_t) { ++first_of_call_[call + 1]; });
  std::partial_sum(first_of_call_.begin(), first_of_call_.end(), first_of_call_.begin());
  call_edges_.resize(first_of_call_.back());
  std::vector<uint32_t> places(first_of_call_.begin(), first_of_call_.end() - 1);
  each([&](uint32_t call, uint32_t e) { call_edges_[places[call]++] = e; });
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    if (!Waits(e)) continue;
    const uint32_t call = CallOf(graph_.to[e]);
    if (call != model::kNoRow) waits_[call] = 1;
  }
}

// Finds calls in which the driver allocated, mapped or unmapped memory.
void Editor::FindAllocations() {
  const model::ApiCalls& api = model_.api;
  std::vector<uint32_t> calls;  // sorted by thread and begin
  const auto key = [&](uint32_t call) { return std::pair(api.tid[call], api.begin_ns[call]); };
  const model::HostEvents& host = model_.host;
  Cursor<uint8_t> kinds(host.kind);
  for (size_t i = 0; i < host.size(); ++i) {
    const auto kind = static_cast<proto::HostBatch::Kind>(kinds[i]);
    if (kind != proto::HostBatch::KIND_BUFFER && kind != proto::HostBatch::KIND_DMA_MAP &&
        kind != proto::HostBatch::KIND_DMA_UNMAP) {
      continue;
    }
    if (calls.empty()) {
      calls.resize(api.size());
      std::iota(calls.begin(), calls.end(), 0);
      std::sort(calls.begin(), calls.end(),
                [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    }
    const std::pair<uint32_t, int64_t> at{host.tid[i], host.time_ns[i]};
    auto call = std::upper_bound(calls.begin(), calls.end(), at,
                                 [&](const auto& a, uint32_t b) { return a < key(b); });
    if (call == calls.begin()) continue;
    --call;
    if (api.tid[*call] == at.first && api.end_ns[*call] >= at.second) allocates_[*call] = 1;
  }
}

uint32_t Editor::CallOf(uint32_t node) const {
  return graph_.kind[node] == Graph::Kind::kHost ? graph_.points[graph_.row[node]].api_row
                                                 : model::kNoRow;
}

bool Editor::IsCopy(uint32_t command) const {
  return graph_.demands[command].to_device || graph_.demands[command].from_device;
}

bool Editor::Waits(uint32_t edge) const { return graph_.hold[edge] == Hold::kSleeps; }

// Assigns a number that was never used before.
void Editor::Change() {
  static std::atomic<uint64_t> last_edition{0};
  before_ = edition_ == 0 ? graph_.edition : before_;
  graph_.edition = edition_ = ++last_edition;
}

void Editor::SetEdge(uint32_t edge, double ns) {
  Change();
  old_edges_.emplace_back(edge, graph_.edge_ns[edge]);
  graph_.edge_ns[edge] = ns;
}
void Editor::SetTracer(uint32_t edge, double ns) {
  Change();
  old_tracers_.emplace_back(edge, graph_.tracer_ns[edge]);
  graph_.tracer_ns[edge] = static_cast<float>(ns);
}
void Editor::DropEdge(uint32_t edge) { SetEdge(edge, Graph::kGone); }

void Editor::SetDemand(uint32_t command, const Demand& demand) {
  Change();
  old_demands_.emplace_back(command, graph_.demands[command]);
  graph_.demands[command] = demand;
}

void Editor::SetCost(uint32_t node, double ns) {
  Change();
  old_costs_.emplace_back(node, graph_.cost_ns[node]);
  graph_.cost_ns[node] = static_cast<float>(ns);
}

void Editor::Undo() {
  // Restore the oldest values last.
  for (auto old = old_edges_.rbegin(); old != old_edges_.rend(); ++old) {
    graph_.edge_ns[old->first] = old->second;
  }
  for (auto old = old_demands_.rbegin(); old != old_demands_.rend(); ++old) {
    graph_.demands[old->first] = old->second;
  }
  for (auto old = old_costs_.rbegin(); old != old_costs_.rend(); ++old) {
    graph_.cost_ns[old->first] = old->second;
  }
  for (auto old = old_tracers_.rbegin(); old != old_tracers_.rend(); ++old) {
    graph_.tracer_ns[old->first] = old->second;
  }
  old_edges_.clear(), old_demands_.clear(), old_costs_.clear(), old_tracers_.clear();
  if (edition_ != 0) graph_.edition = before_;
  edition_ = 0;
}

void Editor::DropCall(uint32_t call) {
  for (const uint32_t edge : EdgesOf(call)) SetEdge(edge, 0);
  for (const uint32_t edge : EdgesOf(call)) {
    const uint32_t node = graph_.to[edge];
    for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      if (Waits(e)) DropEdge(e);
    }
  }
}

// Another job does its work, and no call waits for it.
void Editor::DropJobAndWait(uint32_t job) {
  const uint32_t wait = model_.jobs.wait_api_row[job];
  if (wait != model::kNoRow && !submits_[wait]) DropCall(wait);
  DropJob(job);
}

// Another job does its work.
void Editor::DropJob(uint32_t job) {
  const model::Jobs& jobs = model_.jobs;
  if (jobs.api_row[job] != model::kNoRow) DropCall(jobs.api_row[job]);
  const uint32_t first = jobs.first_command[job];
  for (uint32_t c = first; c < first + jobs.num_commands[job]; ++c) {
    const uint32_t start = graph_.start_of[c];
    if (start == Graph::kNone) continue;
    DropFetch(c);
    for (uint32_t i = graph_.first_next[start + 1]; i < graph_.first_next[start + 2]; ++i) {
      const uint32_t to = graph_.to[graph_.next[i]];
      if (graph_.kind[to] == Graph::Kind::kCompletion && graph_.row[to] == job) SetCost(to, 0);
    }
  }
}

void Editor::DropFetch(uint32_t command) {
  const uint32_t start = graph_.start_of[command];
  if (start == Graph::kNone) return;
  for (uint32_t e = graph_.first_edge[start]; e < graph_.first_edge[start + 1]; ++e) {
    // A fetch that also brings other commands is still needed.
    const uint32_t fetch = graph_.from[e];
    if (graph_.kind[fetch] == Graph::Kind::kFetch && graph_.row[fetch] == command)
      SetCost(fetch, 0);
  }
}

void Editor::MergeInto(uint32_t first, uint32_t command) {
  Demand sum = graph_.demands[first];
  const Demand& more = graph_.demands[command];
  sum.own += more.own, sum.throttled += more.throttled;
  sum.link += more.link, sum.link_reads += more.link_reads;
  sum.tag_latency += more.tag_latency, sum.tag_wire += more.tag_wire;
  sum.memory += more.memory, sum.rows += more.rows, sum.scratch += more.scratch;
  SetDemand(first, sum);
  Demand none;
  none.unit = more.unit, none.queue = more.queue;
  none.to_device = more.to_device, none.from_device = more.from_device;
  SetDemand(command, none);
}

const std::vector<uint32_t>& Editor::InQueueOrder() {
  if (!in_queues_.empty()) return in_queues_;
  const model::Commands& commands = model_.commands;
  Cursor<uint32_t> device(commands.device), queue(commands.queue), job_row(commands.job_row);
  Cursor<uint32_t> index(commands.index);
  Cursor<uint64_t> sequence(model_.jobs.sequence);
  in_queues_.reserve(commands.size());
  for (uint32_t c = 0; c < commands.size(); ++c) {
    if (graph_.start_of[c] != Graph::kNone) in_queues_.push_back(c);
  }
  const auto key = [&](uint32_t c) {
    const uint32_t job = job_row[c];
    return std::make_tuple(device[c], queue[c], job == model::kNoRow ? UINT64_MAX : sequence[job],
                           index[c]);
  };
  model::SortByKey(key, &in_queues_);
  return in_queues_;
}

Edited Editor::MergeCopies() {
  Edited edited;
  const model::Commands& commands = model_.commands;
  uint32_t first = model::kNoRow;
  uint64_t bytes = 0;
  for (const uint32_t c : InQueueOrder()) {
    const Demand& demand = graph_.demands[c];
    const uint32_t job = commands.job_row[c];
    const bool alone = job != model::kNoRow && model_.jobs.num_commands[job] == 1;
    double around =
        static_cast<double>(demand.dispatch) + demand.link_latency + demand.memory_latency;
    if (alone && model_.jobs.api_row[job] != model::kNoRow) {
      for (const uint32_t e : EdgesOf(model_.jobs.api_row[job])) {
        if (!Waits(e)) around += graph_.edge_ns[e];
      }
    }
    const double stream =
        std::max({demand.link, demand.tag_latency + demand.tag_wire, demand.memory, demand.own});
    const bool small = IsCopy(c) && commands.bytes[c] > 0 && around > stream;
    const bool follows =
        first != model::kNoRow && small && commands.device[first] == commands.device[c] &&
        commands.queue[first] == commands.queue[c] && commands.unit[first] == commands.unit[c] &&
        bytes + commands.bytes[c] <= kMergedBytes;
    if (!follows) {
      first = small ? c : model::kNoRow;
      bytes = commands.bytes[c];
      continue;
    }
    bytes += commands.bytes[c];
    if (edited.rows.empty() || edited.rows.back() != first) {
      // The first of a group is added along with the second one.
      if (bytes == commands.bytes[first] + commands.bytes[c]) {
        edited.rows.push_back(first);
        ++edited.count, edited.bytes += commands.bytes[first];
      }
    }
    ++edited.count, edited.bytes += commands.bytes[c];
    edited.ns += around + stream;
    edited.rows.push_back(c);
    if (alone && model_.jobs.api_row[job] != model::kNoRow) {
      edited.calls.push_back(model_.jobs.api_row[job]);
    }
    MergeInto(first, c);
    if (alone) DropJobAndWait(job);
  }
  return edited;
}

// Returns true for jobs without work, such as events, which are not needed in a batch.
bool Editor::IsMarker(uint32_t job) const {
  const model::Commands& commands = model_.commands;
  const uint32_t first = model_.jobs.first_command[job];
  for (uint32_t c = first; c < first + model_.jobs.num_commands[job]; ++c) {
    if (commands.bytes[c] != 0 || commands.work[c] != 0 || commands.memory_bytes[c] != 0) {
      return false;
    }
  }
  return true;
}

// Lets the device receive a job later by this time.
void Editor::Delay(uint32_t job, double ns) {
  const uint32_t first = model_.jobs.first_command[job];
  for (uint32_t c = first; c < first + model_.jobs.num_commands[job]; ++c) {
    const uint32_t start = graph_.start_of[c];
    if (start == Graph::kNone) continue;
    for (uint32_t e = graph_.first_edge[start]; e < graph_.first_edge[start + 1]; ++e) {
      const uint32_t fetch = graph_.from[e];
      if (graph_.kind[fetch] != Graph::Kind::kFetch || graph_.row[fetch] != c) continue;
      for (uint32_t bell = graph_.first_edge[fetch]; bell < graph_.first_edge[fetch + 1]; ++bell) {
        if (graph_.edge_cause[bell] == kByDoorbell) SetEdge(bell, graph_.edge_ns[bell] + ns);
      }
    }
  }
}

Edited Editor::BatchJobs() {
  Edited edited;
  const model::Jobs& jobs = model_.jobs;
  std::vector<uint32_t> order;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (jobs.submit_ns[j] != model::kNoTime && jobs.api_row[j] != model::kNoRow) order.push_back(j);
  }
  model::SortByKey([&](uint32_t j) { return std::pair(jobs.tid[j], jobs.submit_ns[j]); }, &order);
  // The times at which threads waited.
  std::map<uint32_t, std::vector<double>> waits;
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    const uint32_t node = graph_.to[e];
    if (Waits(e)) waits[graph_.points[graph_.row[node]].tid].push_back(graph_.at_ns[node]);
  }
  for (auto& [tid, times] : waits) std::sort(times.begin(), times.end());
  // The jobs of a batch, and for each how much of the time for assembling the batch had passed.
  std::vector<std::pair<uint32_t, double>> batch;
  double together_ns = 0;
  const auto submit = [&] {
    for (const auto& [job, ns] : batch) Delay(job, together_ns - ns);
    batch.clear(), together_ns = 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    const uint32_t before = order[i - 1], job = order[i];
    if (jobs.tid[job] != jobs.tid[before] || jobs.queue[job] != jobs.queue[before] ||
        jobs.device[job] != jobs.device[before] || jobs.api_row[job] == jobs.api_row[before] ||
        model_.api.stream[jobs.api_row[job]] != model_.api.stream[jobs.api_row[before]]) {
      continue;
    }
    if (jobs.commands_submitted[job] > 2) continue;  // many commands are a batch already
    if (IsMarker(job) || IsMarker(before)) continue;
    const std::vector<double>& times = waits[jobs.tid[job]];
    const auto begin = static_cast<double>(jobs.submit_ns[before] - graph_.begin_ns);
    const auto end = static_cast<double>(jobs.submit_ns[job] - graph_.begin_ns);
    const auto wait = std::lower_bound(times.begin(), times.end(), begin);
    if (wait != times.end() && *wait < end) continue;
    if (batch.empty() || batch.back().first != before) submit(), batch.emplace_back(before, 0);
    if (batch.size() >= kBatched) {
      submit();
      continue;
    }
    ++edited.count, edited.bytes += jobs.copy_bytes[job];
    edited.calls.push_back(jobs.api_row[job]);
    for (const uint32_t e : EdgesOf(jobs.api_row[job])) {
      if (OfHost(graph_.edge_cause[e])) edited.ns += graph_.edge_ns[e];
    }
    const uint32_t first = jobs.first_command[job];
    for (uint32_t c = first; c < first + jobs.num_commands[job]; ++c) edited.rows.push_back(c);
    // The device receives a batch at its end. Each job must still be encoded, but the driver and
    // the device need not handle it separately. The first edge ends in the driver, and how much of
    // it is the way into the driver is not recorded: it is between nothing and the time of the way
    // back, so the middle is used.
    const auto& edges = EdgesOf(jobs.api_row[job]);
    std::vector<uint32_t> kept;
    double out_ns = 0;
    for (const uint32_t e : edges) {
      if (graph_.edge_cause[e] == kBySubmitCall) kept.push_back(e);
      if (OfHost(graph_.edge_cause[e])) out_ns += graph_.edge_ns[e];
    }
    const auto earliest = std::min_element(kept.begin(), kept.end(), [&](uint32_t x, uint32_t y) {
      return graph_.at_ns[graph_.to[x]] < graph_.at_ns[graph_.to[y]];
    });
    double encode_ns = 0;
    if (earliest != kept.end()) {
      const double in_ns = graph_.edge_ns[*earliest];
      encode_ns = std::max(0.75 * in_ns, in_ns - (out_ns - in_ns) / 2);
    }
    DropJob(job);
    if (earliest != kept.end()) SetEdge(*earliest, encode_ns);
    const double apart_ns = static_cast<double>(model_.api.begin_ns[jobs.api_row[job]]) -
                            static_cast<double>(model_.api.end_ns[jobs.api_row[before]]);
    together_ns += encode_ns + std::max(0.0, apart_ns);
    batch.emplace_back(job, together_ns);
  }
  submit();
  return edited;
}

Edited Editor::MergeCommands() {
  Edited edited;
  const model::Commands& commands = model_.commands;
  std::map<uint32_t, uint64_t> merged;  // by job
  uint32_t first = model::kNoRow;
  for (const uint32_t c : InQueueOrder()) {
    const Demand& demand = graph_.demands[c];
    const double around = static_cast<double>(demand.dispatch) + demand.memory_latency;
    const double stream =
        std::max({demand.own + demand.throttled, demand.memory, demand.rows, demand.scratch});
    const bool small = !IsCopy(c) && around > stream;
    const bool follows =
        first != model::kNoRow && small && commands.job_row[first] == commands.job_row[c] &&
        commands.queue[first] == commands.queue[c] && commands.unit[first] == commands.unit[c] &&
        commands.op[first] == commands.op[c] && commands.opcode[first] == commands.opcode[c];
    if (!follows) {
      first = small ? c : model::kNoRow;
      continue;
    }
    ++edited.count, edited.bytes += commands.bytes[c];
    edited.ns += around + stream;
    edited.rows.push_back(c);
    MergeInto(first, c);
    DropFetch(c);
    if (commands.job_row[c] != model::kNoRow) ++merged[commands.job_row[c]];
  }
  // The time of a submission is proportional to its commands.
  for (const auto& [job, count] : merged) {
    const uint32_t call = model_.jobs.api_row[job];
    if (call == model::kNoRow || model_.jobs.num_commands[job] == 0) continue;
    const double left = 1 - static_cast<double>(count) / model_.jobs.num_commands[job];
    for (const uint32_t e : EdgesOf(call)) {
      if (OfHost(graph_.edge_cause[e])) SetEdge(e, graph_.edge_ns[e] * std::max(0.0, left));
    }
  }
  return edited;
}

Edited Editor::OrderRows() {
  Edited edited;
  for (uint32_t c = 0; c < graph_.demands.size(); ++c) {
    if (graph_.demands[c].rows <= 0) continue;
    Demand demand = graph_.demands[c];
    ++edited.count, edited.bytes += model_.commands.memory_bytes[c];
    edited.ns += demand.rows;
    edited.rows.push_back(c);
    demand.rows = 0;
    SetDemand(c, demand);
  }
  return edited;
}

Edited Editor::FuseOps(const std::vector<std::pair<std::string, std::string>>& pairs,
                       double element_bytes) {
  Edited edited;
  const model::Commands& commands = model_.commands;
  std::map<std::string, uint64_t> fused;
  uint32_t before = model::kNoRow, taken = model::kNoRow;
  for (const uint32_t c : InQueueOrder()) {
    const uint32_t a = before;
    before = c;
    if (a == model::kNoRow || commands.device[a] != commands.device[c] ||
        commands.queue[a] != commands.queue[c] || IsCopy(a) || IsCopy(c)) {
      continue;
    }
    const double elements = static_cast<double>(commands.work[c]);
    const auto moved_a = static_cast<double>(commands.memory_bytes[a]);
    const auto moved_c = static_cast<double>(commands.memory_bytes[c]);
    const double between = elements * element_bytes;
    const bool through_memory = commands.unit[a] == commands.unit[c] &&
                                commands.work[a] == commands.work[c] && between > 0 &&
                                moved_a >= 2 * between && moved_c >= 2 * between;
    const std::string &op_a = model_.OpName(a), &op_c = model_.OpName(c);
    // It is not known whether one op reads what the other wrote, but ops of different names may.
    bool wanted = pairs.empty() && through_memory && op_a != op_c && a != taken;
    for (const auto& pair : pairs) wanted |= op_a == pair.first && op_c == pair.second;
    if (!wanted) continue;
    Demand first = graph_.demands[a], second = graph_.demands[c];
    if (through_memory) {
      // Each element is written once and read once.
      first.memory -= static_cast<float>(first.memory * between / moved_a);
      second.memory -= static_cast<float>(second.memory * between / moved_c);
      edited.bytes += static_cast<uint64_t>(2 * between);
    }
    second.dispatch = 0, second.memory_latency = 0;
    ++edited.count;
    edited.ns += graph_.at_ns[graph_.start_of[c] + 1] - graph_.at_ns[graph_.start_of[c]];
    edited.rows.push_back(a), edited.rows.push_back(c);
    SetDemand(a, first), SetDemand(c, second);
    taken = c;
    if (fused.size() < 64) ++fused[op_a + " > " + op_c];
  }
  for (const auto& [name, count] : fused) edited.ops_fused.push_back(name);
  return edited;
}

}  // namespace acceltrace::analysis
