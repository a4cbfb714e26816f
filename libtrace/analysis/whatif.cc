// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>

#include "libtrace/analysis/graph.h"
#include "libtrace/analysis/sharing.h"

namespace acceltrace::analysis {
namespace {

// A trace without a wait for tags tells that there are more than so many. Exactly as many as would
// just do is not likely.
constexpr double kTagsBeyond = 1.5;
constexpr double kNever = std::numeric_limits<double>::infinity();

class Replayer {
 public:
  Replayer(const Graph& graph, const Scales& scales, const Reading& reading,
           std::vector<uint32_t>* order)
      : graph_(graph), scales_(scales), reading_(reading), order_(order) {
    const size_t n = graph.size();
    at_ns_.assign(n, 0);
    waits_for_.resize(n);
    for (size_t e = 0; e < graph.to.size(); ++e) waits_for_[graph.to[e]] += Holds(e);
    speed_.fill(1);
    speed_[kByProgram] = speed_[kByCall] = scales.speed[kHostSpeed];
    speed_[kBySubmitCall] = speed_[kByDriver] = scales.speed[kHostSubmit];
    speed_[kByWake] = scales.speed[kHostWake];
    for (const DeviceRates& rates : graph.rates) {
      devices_.emplace_back(rates.units.size());
      units_.emplace_back(kMaxUnits);
    }
    if (order_ != nullptr) order_->clear(), order_->reserve(n);
  }

  // False if there is a cycle.
  bool Run() {
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      if (waits_for_[n] == 0) ready_.push_back(n);
    }
    for (;;) {
      Settle();
      if (!Advance()) break;
    }
    return done_ == graph_.size();
  }
  std::vector<double>& at_ns() { return at_ns_; }

 private:
  // All that can come without a command's streaming in between.
  void Settle() {
    while (!ready_.empty()) {
      const uint32_t node = ready_.back();
      ready_.pop_back();
      if (graph_.kind[node] == Graph::Kind::kStart) {
        events_.push({at_ns_[node], kArrives, node});
        continue;
      }
      if (graph_.kind[node] != Graph::Kind::kEnd) at_ns_[node] += OwnNs(node);
      Done(node);
    }
  }

  void Done(uint32_t node) {
    ++done_;
    if (order_ != nullptr) order_->push_back(node);
    if (graph_.kind[node] == Graph::Kind::kStart) {
      Begin(node);
      return;
    }
    for (uint32_t i = graph_.first_next[node]; i < graph_.first_next[node + 1]; ++i) {
      Follow(graph_.next[i], at_ns_[node]);
    }
  }

  bool Holds(size_t edge) const { return reading_.keep_turns || graph_.hold[edge] != Hold::kTurn; }

  void Follow(uint32_t edge, double from_ns) {
    if (!Holds(edge)) return;
    const uint32_t to = graph_.to[edge];
    const Hold hold = graph_.hold[edge];
    const bool later = hold == Hold::kSleeps && !reading_.keep_sleeps;
    if (!later && (reading_.keep_assumed || hold != Hold::kAssumed)) {
      at_ns_[to] = std::max(at_ns_[to], from_ns + EdgeNs(edge));
    }
    if (--waits_for_[to] > 0) return;
    if (graph_.kind[to] == Graph::Kind::kHost && !reading_.keep_sleeps) Wake(to);
    ready_.push_back(to);
  }

  // All that a host point waits for has come: whether it slept until then.
  void Wake(uint32_t node) {
    for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      if (graph_.hold[e] != Hold::kSleeps || !graph_.Counts(e, at_ns_)) continue;
      at_ns_[node] = std::max(at_ns_[node], at_ns_[graph_.from[e]] + EdgeNs(e));
    }
  }

  double EdgeNs(uint32_t edge) const {
    double ns = graph_.edge_ns[edge] + reading_.more_excess * graph_.excess_ns[edge];
    // Below zero: an edge that an edit took away.
    if (scales_.without_tracer && ns > 0) {
      ns = std::max(0.0, ns - reading_.tracer * static_cast<double>(graph_.tracer_ns[edge]));
    }
    return ns / speed_[graph_.edge_cause[edge]];
  }

  double OwnNs(uint32_t node) const {
    const double ns = graph_.cost_ns[node];
    const Cause cause = graph_.cause[node];
    if (ns <= 0 || (cause != kByFetch && cause != kByCompletion)) return ns;
    // A fetch is a round trip, a completion half of one; the rest is something else.
    const uint32_t device = graph_.device[node];
    double latency = graph_.rates[device].link_latency_ns;
    if (cause == kByCompletion) latency /= 2;
    latency = std::min(latency, ns);
    return ns - latency + latency / scales_.speed[kPcieLatency];
  }

  // A command starts: its edges are followed but for the one to its end.
  void Begin(uint32_t start) {
    for (uint32_t i = graph_.first_next[start]; i < graph_.first_next[start + 1]; ++i) {
      const uint32_t edge = graph_.next[i];
      if (graph_.to[edge] != start + 1) Follow(edge, at_ns_[start]);
    }
    const Demand& demand = graph_.demands[graph_.row[start]];
    events_.push({at_ns_[start] + demand.FixedNs(scales_), kStreams, start});
  }

  // A unit, and the commands that wait for it.
  struct Unit {
    bool busy = false;
    uint32_t last_queue = 0;
    std::vector<uint32_t> waiting;  // start nodes; one of each queue at most
  };
  static constexpr size_t kMaxUnits = 256;
  Unit& UnitOf(uint32_t start) {
    return units_[graph_.device[start]][graph_.demands[graph_.row[start]].unit];
  }

  // The queue after the last one that had the unit goes on.
  void Pick(uint32_t start, double at_ns) {
    Unit& unit = UnitOf(start);
    if (unit.busy || unit.waiting.empty()) return;
    const auto turn = [&](uint32_t node) {
      return (uint32_t{graph_.demands[graph_.row[node]].queue} - unit.last_queue - 1) & 0xffff;
    };
    const auto next = std::min_element(unit.waiting.begin(), unit.waiting.end(),
                                       [&](uint32_t a, uint32_t b) { return turn(a) < turn(b); });
    const uint32_t node = *next;
    unit.waiting.erase(next);
    unit.busy = true;
    unit.last_queue = graph_.demands[graph_.row[node]].queue;
    at_ns_[node] = std::max(at_ns_[node], at_ns) + OwnNs(node);
    Done(node);
  }

  // The next command that arrives at its unit, begins to stream, or ends.
  bool Advance() {
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
    const Event event = events_.top();
    events_.pop();
    if (event.what == kArrives) {
      Unit& unit = UnitOf(event.start);
      unit.waiting.push_back(event.start);
      if (!unit.busy) events_.push({event.at_ns, kPicks, event.start});
    } else if (event.what == kPicks) {
      Pick(event.start, event.at_ns);
    } else {
      const Demand& demand = graph_.demands[graph_.row[event.start]];
      Sharing& device = devices_[graph_.device[event.start]];
      if (!device.Add(event.at_ns, event.start + 1, UseOf(demand, event.start))) {
        End(event.start + 1, event.at_ns);
      }
    }
    return true;
  }

  void End(uint32_t node, double at_ns) {
    at_ns_[node] = at_ns;
    UnitOf(node - 1).busy = false;
    events_.push({at_ns, kPicks, node - 1});
    if (--waits_for_[node] == 0) ready_.push_back(node);
  }

  Use UseOf(const Demand& demand, uint32_t node) const {
    const DeviceRates& rates = graph_.rates[graph_.device[node]];
    const auto kind =
        demand.unit < rates.units.size() ? rates.units[demand.unit] : proto::Unit::KIND_UNKNOWN;
    Use use;
    use.memory_ns = demand.MemoryNs(scales_, reading_.one_bank);
    if (demand.to_device) use.to_device_ns = demand.LinkNs(scales_);
    if (demand.from_device) use.from_device_ns = demand.LinkNs(scales_);
    use.alone_ns =
        std::max({demand.OwnNs(scales_, kind), demand.TagNs(scales_), demand.ScratchNs(scales_)});
    if (reading_.least_tags && demand.to_device && rates.tags == 0 && rates.least_tags > 0) {
      use.alone_ns =
          std::max(use.alone_ns, demand.link_reads / (kTagsBeyond * rates.least_tags) *
                                     (rates.link_latency_ns / scales_.speed[kPcieLatency] +
                                      demand.LinkNs(scales_) / std::max(1.0f, demand.link_reads)));
    }
    use.stretch = demand.stretch;
    return use;
  }

  // At the same instant in this order: who arrives takes part in the choice.
  enum What : uint8_t { kArrives, kStreams, kPicks };
  struct Event {
    double at_ns;
    What what;
    uint32_t start;
    bool operator<(const Event& other) const {  // the earliest is on top
      if (at_ns != other.at_ns) return at_ns > other.at_ns;
      return what != other.what ? what > other.what : start > other.start;
    }
  };

  const Graph& graph_;
  const Scales& scales_;
  const Reading& reading_;
  std::vector<uint32_t>* order_;
  std::vector<double> at_ns_;
  std::vector<uint32_t> waits_for_, ready_;
  std::array<double, kNumCauses> speed_;
  std::vector<Sharing> devices_;
  std::vector<std::vector<Unit>> units_;  // by device
  std::priority_queue<Event> events_;
  size_t done_ = 0;
};

}  // namespace

const std::vector<Reading>& Readings() {
  static const std::vector<Reading> readings = {{},
                                                {.keep_assumed = false},
                                                {.one_bank = 0},
                                                {.one_bank = 1},
                                                {.least_tags = true},
                                                {.keep_turns = true},
                                                {.keep_sleeps = true}};
  return readings;
}

double Replay(const Graph& graph, const Scales& scales, const Reading& reading,
              std::vector<double>* at_ns, std::vector<uint32_t>* order) {
  Replayer replayer(graph, scales, reading, order);
  if (!replayer.Run()) return -1;
  const std::vector<double>& at = replayer.at_ns();
  const double end_ns = at.empty() ? 0 : *std::max_element(at.begin(), at.end());
  if (at_ns != nullptr) *at_ns = std::move(replayer.at_ns());
  return end_ns;
}

std::vector<double> ReplayAsItWas(const Graph& graph) {
  std::vector<double> ns;
  for (const Reading& reading : Readings()) ns.push_back(Replay(graph, {}, reading));
  return ns;
}

Prediction Predict(const Graph& graph, const Scales& scales, const std::vector<double>& as_it_was) {
  Prediction prediction;
  prediction.recorded_ns = graph.RunNs();
  const std::vector<double> bases_ns = as_it_was.empty() ? ReplayAsItWas(graph) : as_it_was;
  for (const Reading& reading : Readings()) {
    const double base_ns = bases_ns[static_cast<size_t>(&reading - Readings().data())];
    const double ns = Replay(graph, scales, reading);
    const bool likeliest = &reading == &Readings().front();
    if (likeliest) prediction.base_ns = base_ns;
    if (likeliest && base_ns <= 0) {
      prediction.error = graph.size() == 0 ? "the trace holds no work of a device"
                                           : "the trace contradicts itself: events wait for each "
                                             "other in a circle";
      return prediction;
    }
    if (base_ns <= 0) continue;
    const double predicted_ns = prediction.recorded_ns * ns / base_ns;
    if (likeliest) prediction.ns = prediction.lo_ns = prediction.hi_ns = predicted_ns;
    prediction.lo_ns = std::min(prediction.lo_ns, predicted_ns);
    prediction.hi_ns = std::max(prediction.hi_ns, predicted_ns);
  }
  prediction.valid = true;
  std::vector<Reading> runs = {{.more_excess = -1}, {.more_excess = 1}};
  if (scales.without_tracer) {
    runs.push_back({.tracer = graph.tracer_low});
    runs.push_back({.tracer = graph.tracer_high});
  }
  double less_ns = 0, more_ns = 0;
  for (const Reading& run : runs) {
    const double ns =
        prediction.recorded_ns * Replay(graph, scales, run) / prediction.base_ns - prediction.ns;
    less_ns = std::min(less_ns, ns), more_ns = std::max(more_ns, ns);
  }
  prediction.lo_ns += less_ns, prediction.hi_ns += more_ns;
  // As much as the replay misses the run, and a part of what changes.
  const double change_ns = std::abs(prediction.ns - prediction.recorded_ns);
  const double miss_ns = std::abs(prediction.base_ns - prediction.recorded_ns);
  const double wider_ns = 0.02 * prediction.ns + 0.1 * change_ns + miss_ns;
  prediction.lo_ns = std::max(0.0, prediction.lo_ns - wider_ns);
  prediction.hi_ns += wider_ns;
  return prediction;
}

}  // namespace acceltrace::analysis
