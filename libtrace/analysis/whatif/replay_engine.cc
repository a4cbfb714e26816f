// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/replay_engine.h"

#include <limits>

namespace acceltrace::analysis {
namespace {

// If a trace has no wait for tags, there are more than it used. It is not likely that there are
// only just enough.
constexpr double kTagsBeyond = 1.5;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

ReplayEngine::ReplayEngine(const Graph& graph) : graph_(graph) {
  const size_t nodes = graph.size(), edges = graph.to.size();
  out_.resize(edges);
  for (size_t i = 0; i < edges; ++i) {
    const uint32_t edge = graph.next[i];
    out_[i] = {graph.to[edge], edge, graph.edge_cause[edge], graph.hold[edge]};
    any_excess_ |= graph.excess_ns[edge] != 0;
  }
  fresh_.resize(nodes);
  for (size_t n = 0; n < nodes; ++n) fresh_[n] = {0, 0, graph.kind[n], false, false, false};
  for (size_t e = 0; e < edges; ++e) {
    Node& to = fresh_[graph.to[e]];
    if (graph.hold[e] == Hold::kTurn) {
      turns_.push_back(graph.to[e]);
      to.turns = true;
    } else {
      ++to.waits_for;
      to.sleeps |= graph.hold[e] == Hold::kSleeps;
    }
  }
}

void ReplayEngine::Prepare() {
  nodes_ = fresh_;  // keeps its capacity
  if (reading_.keep_turns) {
    for (const uint32_t node : turns_) ++nodes_[node].waits_for;
  }
  edited_ = graph_.edition != 0;
  for (uint32_t e = 0; edited_ && e < graph_.to.size(); ++e) {
    if (Gone(e) && (graph_.hold[e] != Hold::kTurn || reading_.keep_turns)) {
      --nodes_[graph_.to[e]].waits_for;
    }
  }
  if (graph_.assumed_orders > 0) assumed_ns_.assign(nodes_.size(), 0);
  speed_.fill(1);
  speed_[kByProgram] = speed_[kByCall] = speed_[kByCpu] = scales_.speed[kHostSpeed];
  speed_[kBySubmitCall] = speed_[kByDriver] = scales_.speed[kHostSubmit];
  speed_[kByWake] = scales_.speed[kHostWake];
  devices_.clear();
  units_.resize(graph_.rates.size());
  for (size_t d = 0; d < graph_.rates.size(); ++d) {
    devices_.emplace_back(graph_.rates[d].units.size());
    units_[d].assign(kUnits, {});
  }
  events_.clear(), ready_.clear();
  done_ = 0, last_ns_ = 0, cpu_ns_ = 0, open_ = any_excess_ ? kExcess : 0;
}

double ReplayEngine::Run(const Scales& scales, const Reading& reading, std::vector<double>* at_ns,
                         std::vector<uint32_t>* order) {
  scales_ = scales, reading_ = reading, order_ = order;
  Prepare();
  if (order != nullptr) order->clear(), order->reserve(nodes_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].waits_for == 0) ready_.push_back(n);
  }
  do Settle();
  while (Advance());
  if (done_ != nodes_.size()) return -1;  // the graph has a cycle
  if (at_ns != nullptr) {
    at_ns->resize(nodes_.size());
    for (size_t n = 0; n < nodes_.size(); ++n) (*at_ns)[n] = nodes_[n].at_ns;
  }
  return std::max(last_ns_, graph_.cpu_scale * cpu_ns_);
}

// Processes everything that can come before a command streams.
void ReplayEngine::Settle() {
  while (!ready_.empty()) {
    const uint32_t n = ready_.back();
    ready_.pop_back();
    Node& node = nodes_[n];
    if (graph_.assumed_orders > 0 && assumed_ns_[n] > node.at_ns) {
      node.at_ns = assumed_ns_[n];
      open_ |= kAssumed;
    }
    if (node.kind == Graph::Kind::kStart) {
      events_.Push(node.at_ns, ReplayEvents::kArrives, n);
      continue;
    }
    if (node.kind != Graph::Kind::kEnd) node.at_ns += OwnNs(n);
    Done(n);
  }
}

void ReplayEngine::Done(uint32_t node) {
  ++done_;
  if (order_ != nullptr) order_->push_back(node);
  nodes_[node].done = true;
  const double at_ns = nodes_[node].at_ns;
  last_ns_ = std::max(last_ns_, at_ns);
  if (nodes_[node].kind == Graph::Kind::kStart) {
    Begin(node);
    return;
  }
  const uint32_t end = graph_.first_next[node + 1];
  for (uint32_t i = graph_.first_next[node]; i < end; ++i) Follow(out_[i], at_ns);
}

inline void ReplayEngine::Follow(const Out& out, double from_ns) {
  if (Gone(out.edge)) return;
  Node& to = nodes_[out.to];
  switch (out.hold) {
    case Hold::kTurn:
      if (!reading_.keep_turns) return;
      [[fallthrough]];
    case Hold::kKnown: {
      const double ns = EdgeNs(out.edge, out.cause);
      to.at_ns = std::max(to.at_ns, from_ns + ns);
      if (TakesCpu(out.cause)) cpu_ns_ += ns;
      break;
    }
    case Hold::kAssumed:
      // Kept separately, to find out whether it delays anything.
      if (reading_.keep_assumed) {
        double& at_ns = assumed_ns_[out.to];
        at_ns = std::max(at_ns, from_ns + EdgeNs(out.edge, out.cause));
      }
      break;
    case Hold::kSleeps:
      // Otherwise, whether it slept is only known when everything has come.
      if (reading_.keep_sleeps) {
        to.at_ns = std::max(to.at_ns, from_ns + EdgeNs(out.edge, out.cause));
      }
      break;
  }
  if (--to.waits_for > 0) return;
  if (to.sleeps && !reading_.keep_sleeps) Wake(out.to);
  ready_.push_back(out.to);
}

// Everything that a host point waits for has come, so it is known whether it slept until then.
void ReplayEngine::Wake(uint32_t node) {
  for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
    if (graph_.hold[e] != Hold::kSleeps || Gone(e)) continue;
    const double at_ns = nodes_[graph_.from[e]].at_ns + EdgeNs(e, graph_.edge_cause[e]);
    if (at_ns <= nodes_[node].at_ns) continue;
    if (Sleeps(e)) {
      nodes_[node].at_ns = at_ns;
    } else {
      open_ |= kSleeps;
    }
  }
}

// Evaluates Graph::Counts() for such an edge with the times of this replay.
bool ReplayEngine::Sleeps(uint32_t edge) const {
  const uint32_t node = graph_.to[edge];
  for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
    if (graph_.hold[e] == Hold::kSleeps) continue;
    return nodes_[graph_.from[edge]].at_ns >= nodes_[graph_.from[e]].at_ns;
  }
  return true;
}

inline double ReplayEngine::EdgeNs(uint32_t edge, Cause cause) const {
  double ns = graph_.edge_ns[edge];
  if (reading_.more_excess != 0) ns += reading_.more_excess * graph_.excess_ns[edge];
  if (ns == 0) return ns;
  // A negative time means that an edit removed the edge.
  if (scales_.without_tracer && ns > 0) {
    ns = std::max(0.0, ns - reading_.tracer * static_cast<double>(graph_.tracer_ns[edge]));
  }
  if (speed_[cause] == 1) return ns;
  return cause == kByWake ? WakeNs(edge, ns) : ns / speed_[cause];
}

// Only the part of a wake-up that is due to sleeping is scaled. A wait takes as long to return
// either way.
double ReplayEngine::WakeNs(uint32_t edge, double ns) const {
  if (graph_.kind[graph_.from[edge]] != Graph::Kind::kCompletion) return ns;
  const double asking_ns = std::min(ns, graph_.asking_ns);
  return asking_ns + (ns - asking_ns) / speed_[kByWake];
}

inline double ReplayEngine::OwnNs(uint32_t node) const {
  const double ns = graph_.cost_ns[node];
  const Cause cause = graph_.cause[node];
  if (ns <= 0 || (cause != kByFetch && cause != kByCompletion)) return ns;
  // A fetch has a round trip and a completion half of one; the rest has other causes.
  double latency = graph_.rates[graph_.device[node]].link_latency_ns;
  if (cause == kByCompletion) latency /= 2;
  latency = std::min(latency, ns);
  return ns - latency + latency / scales_.speed[kPcieLatency];
}

// Starts a command: follows all of its edges except for the one to its end.
void ReplayEngine::Begin(uint32_t start) {
  const double at_ns = nodes_[start].at_ns;
  for (uint32_t i = graph_.first_next[start]; i < graph_.first_next[start + 1]; ++i) {
    if (out_[i].to != start + 1) Follow(out_[i], at_ns);
  }
  const Demand& demand = graph_.demands[graph_.row[start]];
  events_.Push(at_ns + demand.FixedNs(scales_), ReplayEvents::kStreams, start);
}

// Continues with the queue after the last one that had the unit.
void ReplayEngine::Pick(uint32_t start, double at_ns) {
  Unit& unit = units_[graph_.device[start]][graph_.demands[graph_.row[start]].unit];
  if (unit.busy || unit.waiting.empty()) return;
  auto next = unit.waiting.begin();
  if (unit.waiting.size() > 1) {
    const auto turn = [&](uint32_t node) {
      return (uint32_t{graph_.demands[graph_.row[node]].queue} - unit.last_queue - 1) & 0xffff;
    };
    next = std::min_element(unit.waiting.begin(), unit.waiting.end(),
                            [&](uint32_t a, uint32_t b) { return turn(a) < turn(b); });
  }
  const uint32_t node = *next;
  unit.waiting.erase(next);
  unit.busy = true;
  unit.last_queue = graph_.demands[graph_.row[node]].queue;
  if (nodes_[node].turns) LookAtTurns(node);
  nodes_[node].at_ns = std::max(nodes_[node].at_ns, at_ns) + OwnNs(node);
  Done(node);
}

// Notes whether the command comes before one that it followed in the recording.
void ReplayEngine::LookAtTurns(uint32_t start) {
  for (uint32_t e = graph_.first_edge[start]; e < graph_.first_edge[start + 1]; ++e) {
    if (graph_.hold[e] == Hold::kTurn && !nodes_[graph_.from[e]].done) open_ |= kTurns;
  }
}

// Processes the next command that arrives at its unit, begins to stream, or ends.
bool ReplayEngine::Advance() {
  double end_ns = kNever;
  Sharing* ends = nullptr;
  for (Sharing& device : devices_) {
    if (device.next_ns() < end_ns) end_ns = device.next_ns(), ends = &device;
  }
  if (events_.empty() || events_.top().at_ns > end_ns) {
    if (ends == nullptr) return false;
    End(ends->Remove(), end_ns);
    return true;
  }
  const ReplayEvents::Event event = events_.Pop();
  const uint32_t start = event.start(), device = graph_.device[start];
  if (event.what() == ReplayEvents::kPicks) {
    Pick(start, event.at_ns);
    return true;
  }
  const Demand& demand = graph_.demands[graph_.row[start]];
  if (event.what() == ReplayEvents::kArrives) {
    Unit& unit = units_[device][demand.unit];
    unit.waiting.push_back(start);
    if (unit.busy) return true;
    // Do it immediately, unless another event comes first.
    if (events_.Precedes(event.at_ns, ReplayEvents::kPicks, start)) {
      Pick(start, event.at_ns);
    } else {
      events_.Push(event.at_ns, ReplayEvents::kPicks, start);
    }
  } else if (!devices_[device].Add(event.at_ns, start + 1, UseOf(demand, device))) {
    End(start + 1, event.at_ns);
  }
  return true;
}

void ReplayEngine::End(uint32_t node, double at_ns) {
  nodes_[node].at_ns = at_ns;
  units_[graph_.device[node]][graph_.demands[graph_.row[node]].unit].busy = false;
  events_.Push(at_ns, ReplayEvents::kPicks, node - 1);
  if (--nodes_[node].waits_for == 0) ready_.push_back(node);
}

// Returns how long the command would take with as few tags as the trace allows.
double ReplayEngine::LeastTagsNs(const Demand& demand, const DeviceRates& rates) const {
  if (!demand.to_device || rates.tags != 0 || rates.least_tags <= 0) return 0;
  return demand.link_reads / (kTagsBeyond * rates.least_tags) *
         (rates.link_latency_ns / scales_.speed[kPcieLatency] +
          demand.LinkNs(scales_) / std::max(1.0f, demand.link_reads));
}

Use ReplayEngine::UseOf(const Demand& demand, uint32_t device) {
  const DeviceRates& rates = graph_.rates[device];
  const auto kind =
      demand.unit < rates.units.size() ? rates.units[demand.unit] : proto::Unit::KIND_UNKNOWN;
  Use use;
  use.memory_ns = demand.MemoryNs(scales_, reading_.one_bank);
  if (demand.rows > 0 && (demand.MemoryNs(scales_, 0) != use.memory_ns ||
                          demand.MemoryNs(scales_, 1) != use.memory_ns)) {
    open_ |= kBanks;
  }
  if (demand.to_device) use.to_device_ns = demand.LinkNs(scales_);
  if (demand.from_device) use.from_device_ns = demand.LinkNs(scales_);
  use.alone_ns =
      std::max({demand.OwnNs(scales_, kind), demand.TagNs(scales_), demand.ScratchNs(scales_)});
  const double tags_ns = LeastTagsNs(demand, rates);
  if (tags_ns > use.alone_ns) {
    open_ |= kTags;
    if (reading_.least_tags) use.alone_ns = tags_ns;
  }
  use.stretch = demand.stretch;
  return use;
}

}  // namespace acceltrace::analysis
