// SPDX-License-Identifier: Apache-2.0
//
// Edits of what the host does: waits, allocations, pageable copies, the program and wake-ups.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "libtrace/analysis/rows/median.h"
#include "libtrace/analysis/whatif/edit.h"

namespace acceltrace::analysis {
namespace {

// A CPU does not copy faster than this (bytes per ns), and a call this many times as long as other
// calls that submit must have done something else as well.
constexpr double kMostBytesPerNs = 100, kLongCall = 3, kPageBytes = 4096;

}  // namespace

Edited Editor::RemoveWaits() {
  Edited edited;
  std::map<uint32_t, double> last_submit_ns;
  const model::Jobs& jobs = model_.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.submit_ns[j] == model::kNoTime) continue;
    double& last = last_submit_ns[jobs.tid[j]];
    last = std::max(last, static_cast<double>(jobs.submit_ns[j] - graph_.begin_ns));
  }
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    if (!Waits(e)) continue;
    const uint32_t node = graph_.to[e], call = CallOf(node);
    const auto last = last_submit_ns.find(graph_.points[graph_.row[node]].tid);
    if (last == last_submit_ns.end() || graph_.at_ns[node] >= last->second) continue;
    ++edited.count;
    if (call != model::kNoRow) {
      edited.calls.push_back(call);
      edited.ns += static_cast<double>(model_.api.end_ns[call] - model_.api.begin_ns[call]);
    }
    DropEdge(e);
    if (call == model::kNoRow) continue;
    submits_[call] ? ShortenCall(call) : DropCall(call);
  }
  return edited;
}

// For a call that submits and waits: returns the edges after the submission, in order.
std::vector<uint32_t> Editor::AfterSubmission(uint32_t call) const {
  std::vector<uint32_t> tail;
  std::vector<uint32_t> edges(EdgesOf(call).begin(), EdgesOf(call).end());
  std::sort(edges.begin(), edges.end(), [this](uint32_t a, uint32_t b) {
    return graph_.at_ns[graph_.to[a]] < graph_.at_ns[graph_.to[b]];
  });
  for (const uint32_t e : edges) {
    if (Waits(e)) continue;
    graph_.edge_cause[e] == kByDriver ? tail.clear() : tail.push_back(e);
  }
  return tail;
}

uint64_t Editor::InterruptsIn(const std::vector<uint32_t>& edges) const {
  uint64_t count = 0;
  for (const uint32_t e : edges) {
    const auto tid = interrupts_.find(graph_.points[graph_.row[graph_.to[e]]].tid);
    if (tid == interrupts_.end()) continue;
    const auto& times = tid->second;
    count += static_cast<uint64_t>(
        std::lower_bound(times.begin(), times.end(), graph_.at_ns[graph_.to[e]]) -
        std::lower_bound(times.begin(), times.end(), graph_.at_ns[graph_.from[e]]));
  }
  return count;
}

// Measures how long calls that only submit take after the submission. Also measures the time of an
// interrupt, by comparing interrupted and uninterrupted parts of calls of the same name.
void Editor::MeasureTails() {
  if (!tails_.empty()) return;
  const model::HostEvents& host = model_.host;
  for (size_t i = 0; i < host.size(); ++i) {
    if (static_cast<proto::HostBatch::Kind>(host.kind[i]) != proto::HostBatch::KIND_IRQ) continue;
    interrupts_[host.tid[i]].push_back(static_cast<double>(host.time_ns[i] - graph_.begin_ns));
  }
  for (auto& [tid, times] : interrupts_) std::sort(times.begin(), times.end());
  for (const bool traced : {true, false}) tails_.push_back(MeasureTail(traced));
}

double Editor::Length(uint32_t edge, bool traced) const {
  const double ns = graph_.edge_ns[edge];
  return traced ? ns : std::max(0.0, ns - static_cast<double>(graph_.tracer_ns[edge]));
}

Editor::Tail Editor::MeasureTail(bool traced) const {
  std::vector<double> tails, interrupts;
  std::map<std::pair<uint32_t, size_t>, std::array<std::vector<double>, 2>> stretches;
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (!submits_[call] || EdgesOf(call).empty()) continue;
    const std::vector<uint32_t> tail = AfterSubmission(call);
    double ns = 0;
    for (size_t i = 0; i < tail.size(); ++i) {
      const double length_ns = Length(tail[i], traced);
      ns += length_ns;
      const uint64_t inside = InterruptsIn({tail[i]});
      // Count from the end, since all calls end alike.
      if (inside < 2)
        stretches[{model_.api.name[call], tail.size() - i}][inside].push_back(length_ns);
    }
    if (!waits_[call] && InterruptsIn(tail) == 0) tails.push_back(ns);
  }
  for (auto& [where, lengths] : stretches) {
    if (!lengths[0].empty() && !lengths[1].empty())
      interrupts.push_back(Median(&lengths[1]) - Median(&lengths[0]));
  }
  return {tails.empty() ? -1 : Median(&tails),
          interrupts.empty() ? 0 : std::max(0.0, Median(&interrupts))};
}

// Shortens a call to the time of those that only submit. Interrupts happen all the same. The
// tracer's share of its time becomes that of these calls.
void Editor::ShortenCall(uint32_t call) {
  MeasureTails();
  const std::vector<uint32_t> tail = AfterSubmission(call);
  if (tail.empty()) return;
  std::array<double, 2> left_ns{};  // without and with the tracer
  for (const bool traced : {false, true}) {
    const Tail& usual = tails_[traced ? 0 : 1];
    double ns = 0;
    for (const uint32_t e : tail) ns += Length(e, traced);
    const bool known = usual.submitted_ns >= 0;
    const double least_ns = known ? usual.submitted_ns : Length(tail.front(), traced);
    const uint64_t others = InterruptsIn(known ? tail : std::vector(tail.begin() + 1, tail.end()));
    left_ns[traced] = std::min(ns, least_ns + static_cast<double>(others) * usual.interrupt_ns);
  }
  for (const uint32_t e : tail) SetEdge(e, e == tail.front() ? left_ns[true] : 0);
  SetTracer(tail.front(), std::max(0.0, left_ns[true] - left_ns[false]));
}

Edited Editor::OverlapCopies() {
  Edited edited;
  const model::Commands& commands = model_.commands;
  std::vector<uint8_t> counted(commands.size());
  std::set<std::pair<uint32_t, uint32_t>> queues;  // queues from which copies are removed
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    const uint32_t from = graph_.from[e], to = graph_.to[e];
    if (graph_.kind[from] != Graph::Kind::kEnd || graph_.kind[to] != Graph::Kind::kStart) continue;
    const uint32_t before = graph_.row[from], after = graph_.row[to];
    const Demand &a = graph_.demands[before], &b = graph_.demands[after];
    const bool of_one_unit = commands.unit[before] == commands.unit[after];
    if (of_one_unit || !((!IsCopy(before) && b.to_device) || (a.from_device && !b.from_device))) {
      continue;
    }
    DropEdge(e);
    const uint32_t copy = IsCopy(after) ? after : before;
    if (counted[copy]) continue;
    counted[copy] = 1;
    queues.emplace(commands.device[copy], commands.queue[copy]);
    ++edited.count, edited.bytes += commands.bytes[copy];
    edited.ns += graph_.at_ns[graph_.start_of[copy] + 1] - graph_.at_ns[graph_.start_of[copy]];
    edited.rows.push_back(copy);
  }
  if (!queues.empty()) LeaveQueues(queues);
  return edited;
}

// In a stream of their own, copies neither delay commands that compute nor wait for them.
void Editor::LeaveQueues(const std::set<std::pair<uint32_t, uint32_t>>& queues) {
  const model::Commands& commands = model_.commands;
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    const uint32_t from = graph_.from[e], to = graph_.to[e];
    const Graph::Kind of = graph_.kind[from], kind = graph_.kind[to];
    const bool room = of == Graph::Kind::kEnd && kind == Graph::Kind::kFetch;
    const bool place = of == Graph::Kind::kStart && kind == Graph::Kind::kStart;
    if (!room && !place) continue;
    const uint32_t before = graph_.row[from], after = graph_.row[to];
    if (queues.count({commands.device[after], commands.queue[after]}) == 0) continue;
    if (room || IsCopy(before) != IsCopy(after)) DropEdge(e);
  }
}

Edited Editor::RemoveAllocations() {
  Edited edited;
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (!allocates_[call] || submits_[call] || EdgesOf(call).empty()) continue;
    ++edited.count, edited.bytes += model_.api.bytes[call];
    for (const uint32_t e : EdgesOf(call)) edited.ns += graph_.edge_ns[e];
    edited.calls.push_back(call);
    DropCall(call);
    // Destroying or unmapping memory requires waiting for what uses it.
    const uint32_t before = CallBefore(call);
    if (before != model::kNoRow && waits_[before] && !submits_[before]) DropCall(before);
  }
  return edited;
}

uint32_t Editor::CallBefore(uint32_t call) const {
  const uint32_t first = graph_.from[EdgesOf(call).front()];
  for (uint32_t e = graph_.first_edge[first]; e < graph_.first_edge[first + 1]; ++e) {
    const uint32_t before = CallOf(graph_.from[e]);
    if (before != model::kNoRow && before != call) return before;
  }
  return model::kNoRow;
}

Edited Editor::PinCopies() {
  Edited edited;
  const model::Jobs& jobs = model_.jobs;
  std::vector<uint64_t> copied(model_.api.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.api_row[j] != model::kNoRow) copied[jobs.api_row[j]] += jobs.copy_bytes[j];
  }
  std::vector<double> usual;
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (!submits_[call] || (copied[call] > 0 && model_.api.bytes[call] > 0)) continue;
    double ns = 0;
    for (const uint32_t e : EdgesOf(call)) {
      if (graph_.edge_cause[e] == kBySubmitCall) ns += graph_.edge_ns[e];
    }
    if (ns > 0) usual.push_back(ns);
  }
  const double usual_ns = Median(&usual);
  const auto copies = [&](uint32_t call) {
    return submits_[call] && copied[call] > 0 &&
           static_cast<double>(model_.api.bytes[call]) >= kPageBytes;
  };
  const auto is_long = [&](uint32_t call, uint32_t e) {
    const Cause cause = graph_.edge_cause[e];
    const double more = graph_.edge_ns[e] - usual_ns;
    return (cause == kBySubmitCall || cause == kByWake) && !Waits(e) &&
           graph_.edge_ns[e] >= kLongCall * usual_ns &&
           more >= static_cast<double>(model_.api.bytes[call]) / kMostBytesPerNs;
  };
  // A thread's first copy takes longer whatever its memory is, since code and pages are new to it:
  // it only counts if another copy of that name is long, too.
  using Key = std::pair<uint32_t, uint32_t>;  // thread, name
  std::map<Key, uint32_t> first;
  std::set<Key> again;
  const auto key = [this](uint32_t call) {
    return Key{model_.api.tid[call], model_.api.name[call]};
  };
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (!copies(call)) continue;
    uint32_t& known = first.try_emplace(key(call), call).first->second;
    if (model_.api.begin_ns[call] < model_.api.begin_ns[known]) known = call;
  }
  const auto any_long = [&](uint32_t call) {
    const auto edges = EdgesOf(call);
    return std::any_of(edges.begin(), edges.end(), [&](uint32_t e) { return is_long(call, e); });
  };
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (copies(call) && first[key(call)] != call && any_long(call)) again.insert(key(call));
  }
  for (uint32_t call = 0; call < model_.api.size(); ++call) {
    if (!copies(call) || !again.contains(key(call)) || !any_long(call)) continue;
    for (const uint32_t e : EdgesOf(call)) {
      if (!is_long(call, e)) continue;
      edited.ns += graph_.edge_ns[e] - usual_ns;
      SetEdge(e, usual_ns);
    }
    ++edited.count, edited.bytes += model_.api.bytes[call];
    edited.calls.push_back(call);
  }
  return edited;
}

Edited Editor::RemoveProgram() {
  Edited edited;
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    if (graph_.edge_cause[e] != kByProgram || graph_.edge_ns[e] <= 0) continue;
    ++edited.count, edited.ns += graph_.edge_ns[e];
    const uint32_t call = CallOf(graph_.from[e]);
    if (call != model::kNoRow) edited.calls.push_back(call);
    SetEdge(e, 0);
  }
  return edited;
}

Edited Editor::WakeAtOnce() {
  Edited edited;
  for (uint32_t e = 0; e < graph_.to.size(); ++e) {
    if (!Waits(e) || graph_.edge_ns[e] <= 0) continue;
    const uint32_t node = graph_.to[e], call = CallOf(node);
    if (graph_.at_ns[graph_.from[e]] + graph_.edge_ns[e] > graph_.at_ns[node] + 1) continue;
    ++edited.count, edited.ns += graph_.edge_ns[e];
    if (call != model::kNoRow) edited.calls.push_back(call);
    SetEdge(e, 0);
  }
  return edited;
}

}  // namespace acceltrace::analysis
