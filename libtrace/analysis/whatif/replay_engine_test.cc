// SPDX-License-Identifier: Apache-2.0
//
// Compares replays in flat arrays with those of a simple implementation, bit by bit.
#include "libtrace/analysis/whatif/replay_engine.h"

#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <random>

#include "libtrace/analysis/rows/sharing.h"
#include "libtrace/analysis/whatif/edit.h"
#include "libtrace/analysis/whatif/graph_builder.h"
#include "libtrace/analysis/whatif/replays.h"
#include "tests/catch.h"

namespace acceltrace::analysis {
namespace {

// If a trace has no wait for tags, there are more than it used. It is not likely that there are
// only just enough.
constexpr double kTagsBeyond = 1.5;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Implements the definition in whatif.h directly, with a queue of events and lookups.
class Simple {
 public:
  Simple(const Graph& graph, const Scales& scales, const Reading& reading)
      : graph_(graph), scales_(scales), reading_(reading) {
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
  }

  // Returns false if there is a cycle.
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
  // Processes everything that can come before a command streams.
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
    if (graph_.kind[node] == Graph::Kind::kStart) {
      Begin(node);
      return;
    }
    for (uint32_t i = graph_.first_next[node]; i < graph_.first_next[node + 1]; ++i) {
      Follow(graph_.next[i], at_ns_[node]);
    }
  }

  bool Holds(size_t edge) const {
    if (graph_.edge_ns[edge] <= Graph::kGone) return false;
    return reading_.keep_turns || graph_.hold[edge] != Hold::kTurn;
  }

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

  // Everything that a host point waits for has come, so it is known whether it slept until then.
  void Wake(uint32_t node) {
    for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      if (graph_.hold[e] != Hold::kSleeps || !Holds(e) || !graph_.Counts(e, at_ns_)) continue;
      at_ns_[node] = std::max(at_ns_[node], at_ns_[graph_.from[e]] + EdgeNs(e));
    }
  }

  double EdgeNs(uint32_t edge) const {
    double ns = graph_.edge_ns[edge] + reading_.more_excess * graph_.excess_ns[edge];
    // A negative time means that an edit removed the edge.
    if (scales_.without_tracer && ns > 0) {
      ns = std::max(0.0, ns - reading_.tracer * static_cast<double>(graph_.tracer_ns[edge]));
    }
    const double speed = speed_[graph_.edge_cause[edge]];
    if (graph_.edge_cause[edge] != kByWake || speed == 1) return ns / speed;
    if (graph_.kind[graph_.from[edge]] != Graph::Kind::kCompletion) return ns;
    const double asking_ns = std::min(ns, graph_.asking_ns);
    return asking_ns + (ns - asking_ns) / speed;
  }

  double OwnNs(uint32_t node) const {
    const double ns = graph_.cost_ns[node];
    const Cause cause = graph_.cause[node];
    if (ns <= 0 || (cause != kByFetch && cause != kByCompletion)) return ns;
    // A fetch has a round trip and a completion half of one; the rest has other causes.
    const uint32_t device = graph_.device[node];
    double latency = graph_.rates[device].link_latency_ns;
    if (cause == kByCompletion) latency /= 2;
    latency = std::min(latency, ns);
    return ns - latency + latency / scales_.speed[kPcieLatency];
  }

  // Starts a command: follows all of its edges except for the one to its end.
  void Begin(uint32_t start) {
    for (uint32_t i = graph_.first_next[start]; i < graph_.first_next[start + 1]; ++i) {
      const uint32_t edge = graph_.next[i];
      if (graph_.to[edge] != start + 1) Follow(edge, at_ns_[start]);
    }
    const Demand& demand = graph_.demands[graph_.row[start]];
    events_.push({at_ns_[start] + demand.FixedNs(scales_), kStreams, start});
  }

  // A unit and the commands that wait for it.
  struct Unit {
    bool busy = false;
    uint32_t last_queue = 0;
    std::vector<uint32_t> waiting;  // start nodes, at most one from each queue
  };
  static constexpr size_t kMaxUnits = 256;
  Unit& UnitOf(uint32_t start) {
    return units_[graph_.device[start]][graph_.demands[graph_.row[start]].unit];
  }

  // Continues with the queue after the last one that had the unit.
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

  // Processes the next command that arrives at its unit, begins to stream, or ends.
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

  // The order at the same instant: arriving commands take part in the choice.
  enum What : uint8_t { kArrives, kStreams, kPicks };
  struct Event {
    double at_ns;
    What what;
    uint32_t start;
    bool operator<(const Event& other) const {  // the earliest one is on top
      if (at_ns != other.at_ns) return at_ns > other.at_ns;
      return what != other.what ? what > other.what : start > other.start;
    }
  };

  const Graph& graph_;
  const Scales& scales_;
  const Reading& reading_;
  std::vector<double> at_ns_;
  std::vector<uint32_t> waits_for_, ready_;
  std::array<double, kNumCauses> speed_;
  std::vector<Sharing> devices_;
  std::vector<std::vector<Unit>> units_;  // by device
  std::priority_queue<Event> events_;
  size_t done_ = 0;
};

double ReplaySimply(const Graph& graph, const Scales& scales, const Reading& reading) {
  Simple simple(graph, scales, reading);
  if (!simple.Run()) return -1;
  return *std::max_element(simple.at_ns().begin(), simple.at_ns().end());
}

// Jobs of three queues on two devices, submitted by three threads that wait from time to time.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed), builder_(0, 1'000'000'000) {}

  Graph Make() {
    for (uint32_t job = 0; job < 120; ++job) AddJob(job);
    Graph graph = builder_.Finish();
    graph.demands = demands_;
    graph.start_of = starts_;
    graph.asking_ns = 40;
    for (int d = 0; d < 2; ++d) {
      DeviceRates rates;
      rates.units = {proto::Unit::KIND_MATRIX, proto::Unit::KIND_VECTOR, proto::Unit::KIND_UNKNOWN,
                     proto::Unit::KIND_UNKNOWN};
      rates.link_latency_ns = 500;
      rates.tags = d, rates.least_tags = 8;
      graph.rates.push_back(rates);
    }
    return graph;
  }

 private:
  // Often 0 and often equal, so that several events happen at the same instant.
  double Ns(uint32_t most) { return random_() % 3 == 0 ? 0 : 10 * (random_() % (most / 10)); }
  bool One(uint32_t in) { return random_() % in == 0; }
  uint32_t Node(Graph::Kind kind, uint32_t row, Cause cause, uint32_t device = 0) {
    at_ns_ += Ns(300);
    const uint32_t node = builder_.Node(kind, row, at_ns_, device);
    builder_.SetCause(node, cause);
    return node;
  }
  void Edge(uint32_t from, uint32_t to, Cause cause, Hold hold = Hold::kKnown) {
    if (from == Graph::kNone) return;
    const double ns = Ns(400);
    builder_.Edge(from, to, ns, cause, ns / 4, hold);
    if (One(8)) builder_.SetExcess(builder_.edges() - 1, ns / 2);
  }
  uint32_t Host(uint32_t thread, Cause cause) {
    builder_.graph().points.push_back({thread, UINT32_MAX});
    const auto row = static_cast<uint32_t>(builder_.graph().points.size() - 1);
    const uint32_t node = Node(Graph::Kind::kHost, row, cause);
    Edge(threads_[thread], node, cause);
    return threads_[thread] = node;
  }
  Demand Ask(uint32_t unit, uint32_t queue) {
    Demand demand;
    demand.unit = static_cast<uint8_t>(unit), demand.queue = static_cast<uint16_t>(queue);
    const auto ns = [this](uint32_t most) { return static_cast<float>(Ns(most)); };
    demand.dispatch = ns(50), demand.memory_latency = ns(100), demand.own = ns(500);
    demand.throttled = One(4) ? ns(100) : 0, demand.memory = ns(600), demand.scratch = ns(300);
    if (One(3)) demand.rows = demand.memory + ns(400), demand.bus_in_rows = One(2);
    if (unit >= 2) {
      demand.to_device = unit == 2, demand.from_device = unit == 3;
      demand.link = ns(700), demand.link_latency = 500, demand.link_reads = 16;
      if (One(3)) demand.tag_latency = ns(500), demand.tag_wire = ns(200);
    }
    demand.stretch = One(3) ? 1.25f : 1;
    return demand;
  }
  void AddJob(uint32_t job) {
    const uint32_t thread = random_() % 3, queue = random_() % 3, device = random_() % 2;
    Host(thread, One(2) ? kByProgram : kByCall);
    const uint32_t doorbell = Host(thread, kBySubmitCall);
    const uint32_t commands = 1 + random_() % 4;
    uint32_t fetch = Graph::kNone, last = Graph::kNone;
    std::vector<uint32_t> ends;
    for (uint32_t c = 0; c < commands; ++c) {
      const auto command = static_cast<uint32_t>(demands_.size());
      if (fetch == Graph::kNone || One(3)) {
        const uint32_t before = fetch;
        fetch = Node(Graph::Kind::kFetch, command, kByFetch, device);
        Edge(before == Graph::kNone ? doorbell : before, fetch, kByDoorbell);
        if (last_end_ != Graph::kNone && One(2)) {  // space on the chip
          builder_.Edge(last_end_, fetch, 0, kByOrder, 0, Hold::kAssumed);
        }
      }
      const uint32_t unit = random_() % 4;
      demands_.push_back(Ask(unit, queue));
      const uint32_t start = Node(Graph::Kind::kStart, command, kByUnknown, device);
      starts_.push_back(start);
      const uint32_t end = Node(Graph::Kind::kEnd, command, kByCommand, device);
      builder_.Edge(start, end, 0, kByCommand);
      Edge(fetch, start, kByOrder);
      uint32_t& before = units_[device][queue][unit];
      if (before != Graph::kNone) builder_.Edge(before, start);
      if (last != Graph::kNone && One(2)) {
        builder_.Edge(last, start, 0, kByOrder, 0, One(2) ? Hold::kKnown : Hold::kAssumed);
      }
      uint32_t& turn = turns_[device][unit];
      if (turn != Graph::kNone && turn != before) {
        builder_.Edge(turn, start, 0, kByOrder, 0, Hold::kTurn);
      }
      before = turn = last = last_end_ = end;
      ends.push_back(end);
    }
    const uint32_t completion = Node(Graph::Kind::kCompletion, job, kByCompletion, device);
    for (const uint32_t end : ends) builder_.Edge(end, completion);
    if (queue_[device][queue] != Graph::kNone) builder_.Edge(queue_[device][queue], completion);
    queue_[device][queue] = completion;
    if (One(3)) Edge(completion, Host(thread, kByWake), kByWake, Hold::kSleeps);
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  double at_ns_ = 0;
  uint32_t last_end_ = Graph::kNone;
  std::vector<Demand> demands_;
  std::vector<uint32_t> starts_;
  std::array<uint32_t, 3> threads_{Graph::kNone, Graph::kNone, Graph::kNone};
  std::array<std::array<std::array<uint32_t, 4>, 3>, 2> units_ = [] {
    std::array<std::array<std::array<uint32_t, 4>, 3>, 2> none;
    for (auto& device : none) {
      for (auto& queue : device) queue.fill(Graph::kNone);
    }
    return none;
  }();
  std::array<std::array<uint32_t, 4>, 2> turns_ = [] {
    std::array<std::array<uint32_t, 4>, 2> none;
    for (auto& device : none) device.fill(Graph::kNone);
    return none;
  }();
  std::array<std::array<uint32_t, 3>, 2> queue_ = [] {
    std::array<std::array<uint32_t, 3>, 2> none;
    for (auto& device : none) device.fill(Graph::kNone);
    return none;
  }();
};

std::vector<Reading> ManyReadings() {
  std::vector<Reading> readings = Readings();
  readings.push_back({.more_excess = -1});
  readings.push_back({.more_excess = 1});
  readings.push_back({.tracer = 0.5});
  readings.push_back({.keep_assumed = false, .keep_turns = true, .keep_sleeps = true});
  return readings;
}

std::vector<Scales> ManyScales() {
  std::vector<Scales> all(2);
  all[1].without_tracer = true;
  for (int r = 0; r < kNumResources; ++r) {
    all.push_back(Scales::Faster(static_cast<Resource>(r), r % 2 == 0 ? 1.25 : 0.5));
    all.back().without_tracer = r % 3 == 0;
  }
  return all;
}

TEST_CASE("replays in flat arrays give what a plain one gives") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = RandomGraph(seed).Make();
    ReplayEngine engine(graph);
    int differ = 0;
    for (const Scales& scales : ManyScales()) {
      for (const Reading& reading : ManyReadings()) {
        const double ns = ReplaySimply(graph, scales, reading);
        CHECK(ns > 0);
        differ += engine.Run(scales, reading) != ns;
      }
    }
    CHECK(differ == 0);
  }
}

TEST_CASE("an edge that an edit took away is not waited for") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Graph graph = RandomGraph(seed).Make();
    ReplayEngine engine(graph);
    std::mt19937 random(seed);
    graph.edition = 1;
    for (size_t e = 0; e < graph.to.size(); ++e) {
      const bool command = graph.to[e] == graph.from[e] + 1 && graph.edge_cause[e] == kByCommand;
      if (!command && random() % 5 == 0) graph.edge_ns[e] = Graph::kGone;
    }
    int differ = 0;
    for (const Scales& scales : ManyScales()) {
      for (const Reading& reading : ManyReadings()) {
        differ += engine.Run(scales, reading) != ReplaySimply(graph, scales, reading);
      }
    }
    CHECK(differ == 0);
  }
}

TEST_CASE("a replay that is not made has the result of the one that it cannot differ from") {
  uint64_t asked = 0, made = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Graph graph = RandomGraph(seed).Make();
    if (seed % 2 == 0) {
      // Try a graph that leaves less open.
      for (Demand& demand : graph.demands) demand.rows = 0;
      for (Hold& hold : graph.hold) hold = hold == Hold::kSleeps ? hold : Hold::kKnown;
      graph.assumed_orders = 0;
    }
    Replays replays(graph);
    double most = 0;
    for (int edit = 0; edit < 3; ++edit) {
      for (const Scales& scales : ManyScales()) {
        for (const Reading& reading : ManyReadings()) {
          const double ns = ReplaySimply(graph, scales, reading);
          most = std::max(most, std::abs(replays.Run(scales, reading) / ns - 1));
        }
      }
      graph.edge_ns[7 * seed + edit] += 1000;
      graph.demands[seed + edit].own += 500;
      ++graph.edition;
    }
    // Commands that begin to share a resource at the same instant do so in some order.
    CHECK(most < 1e-12);
    asked += replays.asked(), made += replays.made();
  }
  CHECK(made < 0.8 * asked);
}

TEST_CASE("the speed of a resource that is not used changes nothing") {
  int unused = 0, differ = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Graph graph = RandomGraph(seed).Make();
    // Remove one kind of time after another.
    for (Demand& demand : graph.demands) {
      if (seed % 2 == 0) demand.rows = demand.scratch = demand.dispatch = 0;
      if (seed % 3 == 0) demand.tag_latency = demand.tag_wire = demand.memory_latency = 0;
      if (seed % 5 == 0) demand.throttled = demand.link = demand.link_latency = 0;
      if (demand.unit == seed % 4) demand.own = demand.throttled = 0;
    }
    for (size_t e = 0; e < graph.to.size(); ++e) {
      if (seed % 3 == 1 && graph.edge_cause[e] == kByWake) {
        graph.edge_ns[e] = 0, graph.excess_ns[e] = 0;
      }
    }
    if (seed % 5 == 0) {
      for (float& cost_ns : graph.cost_ns) cost_ns = 0;
      for (DeviceRates& rates : graph.rates) rates.least_tags = 0;
    }
    Replays replays(graph);
    for (int r = 0; r < kNumResources; ++r) {
      const auto resource = static_cast<Resource>(r);
      if (replays.Uses(resource)) continue;
      ++unused;
      for (const Reading& reading : ManyReadings()) {
        differ += ReplaySimply(graph, Scales::Faster(resource, 4), reading) !=
                  ReplaySimply(graph, {}, reading);
      }
    }
  }
  CHECK(unused > 40);
  CHECK(differ == 0);
}

TEST_CASE("events come in order of time, kind and node") {
  std::mt19937 random(1);
  ReplayEvents events;
  std::vector<ReplayEvents::Event> sorted;
  for (int i = 0; i < 1000; ++i) {
    const double at_ns = random() % 50;
    const auto what = static_cast<ReplayEvents::What>(random() % 3);
    const uint32_t start = random() % 100;
    events.Push(at_ns, what, start);
    sorted.push_back({at_ns, uint64_t{what} << 32 | start});
  }
  std::sort(sorted.begin(), sorted.end());
  int wrong = 0;
  for (const ReplayEvents::Event& event : sorted) {
    const ReplayEvents::Event popped = events.Pop();
    wrong += popped < event || event < popped;
  }
  CHECK(wrong == 0);
  CHECK(events.empty());
}

}  // namespace
}  // namespace acceltrace::analysis
