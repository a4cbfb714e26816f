// SPDX-License-Identifier: Apache-2.0
//
// Runs a graph again (whatif.h), using a few arrays. Internal.
//
// Host points, fetches and completions come as soon as everything that they wait for has come.
// Commands go through a queue of events in order of time, since they share units, the link and the
// memory. There are no lookups by key, and the loop allocates nothing except for what later replays
// use again.
#ifndef LIBTRACE_ANALYSIS_WHATIF_REPLAY_ENGINE_H_
#define LIBTRACE_ANALYSIS_WHATIF_REPLAY_ENGINE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/sharing.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/whatif.h"

namespace acceltrace::analysis {

// A heap with the earliest event on top. Events at the same instant are ordered by `What`, since
// arriving commands take part in the choice, and then by node.
class ReplayEvents {
 public:
  enum What : uint8_t { kArrives, kStreams, kPicks };
  struct Event {
    double at_ns;
    uint64_t what_and_start;
    What what() const { return static_cast<What>(what_and_start >> 32); }
    uint32_t start() const { return static_cast<uint32_t>(what_and_start); }
    bool operator<(const Event& other) const {
      return at_ns != other.at_ns ? at_ns < other.at_ns : what_and_start < other.what_and_start;
    }
  };
  bool empty() const { return heap_.empty(); }
  const Event& top() const { return heap_.front(); }
  void clear() { heap_.clear(); }
  // Returns true if such an event would be on top.
  bool Precedes(double at_ns, What what, uint32_t start) const {
    return heap_.empty() || Event{at_ns, uint64_t{what} << 32 | start} < heap_.front();
  }
  void Push(double at_ns, What what, uint32_t start) {
    const Event event{at_ns, uint64_t{what} << 32 | start};
    size_t at = heap_.size();
    heap_.push_back(event);
    for (; at > 0 && event < heap_[(at - 1) / 2]; at = (at - 1) / 2)
      heap_[at] = heap_[(at - 1) / 2];
    heap_[at] = event;
  }
  Event Pop() {
    const Event first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    size_t at = 0;
    for (size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < last)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = last;
    return first;
  }

 private:
  std::vector<Event> heap_;
};

class ReplayEngine {
 public:
  explicit ReplayEngine(const Graph& graph);

  // Same as Replay().
  double Run(const Scales& scales, const Reading& reading, std::vector<double>* at_ns = nullptr,
             std::vector<uint32_t>* order = nullptr);

  // What the result of the last replay may depend on: a reading that differs from it only in other
  // properties has the same result. This is exact for the most likely reading; for others, it may
  // name more than necessary.
  enum Open : uint8_t {
    kAssumed = 1,
    kBanks = 2,
    kTags = 4,
    kTurns = 8,
    kSleeps = 16,
    kExcess = 32
  };
  uint8_t open() const { return open_; }

 private:
  struct Node {
    double at_ns;
    uint32_t waits_for;
    Graph::Kind kind;
    bool sleeps;  // some edge to it has Hold::kSleeps
    bool turns;   // some edge to it has Hold::kTurn
    bool done;
  };
  struct Out {
    uint32_t to, edge;
    Cause cause;
    Hold hold;
  };
  // A unit and the commands that wait for it.
  struct Unit {
    bool busy = false;
    uint32_t last_queue = 0;
    std::vector<uint32_t> waiting;  // start nodes, at most one from each queue
  };
  static constexpr size_t kUnits = 256;

  void Prepare();
  void Settle();
  void Done(uint32_t node);
  void Follow(const Out& out, double from_ns);
  void Wake(uint32_t node);
  bool Sleeps(uint32_t edge) const;
  void LookAtTurns(uint32_t start);
  double EdgeNs(uint32_t edge, Cause cause) const;
  bool Gone(uint32_t edge) const { return edited_ && graph_.edge_ns[edge] <= Graph::kGone; }
  double WakeNs(uint32_t edge, double ns) const;
  double OwnNs(uint32_t node) const;
  void Begin(uint32_t start);
  void Pick(uint32_t start, double at_ns);
  bool Advance();
  void End(uint32_t node, double at_ns);
  Use UseOf(const Demand& demand, uint32_t device);
  double LeastTagsNs(const Demand& demand, const DeviceRates& rates) const;

  const Graph& graph_;
  // These are the same for all replays.
  std::vector<Out> out_;  // as Graph::next
  std::vector<Node> fresh_;
  std::vector<uint32_t> turns_;  // nodes, once for each edge to them with Hold::kTurn
  bool any_excess_ = false;

  // These belong to the current replay.
  Scales scales_;
  Reading reading_;
  std::array<double, kNumCauses> speed_{};
  uint8_t open_ = 0;
  bool edited_ = false;  // edges may have been removed
  std::vector<Node> nodes_;
  std::vector<uint32_t> ready_;
  std::vector<double> assumed_ns_;  // for each node, when edges with Hold::kAssumed let it come
  std::vector<Sharing> devices_;
  std::vector<std::vector<Unit>> units_;  // by device
  ReplayEvents events_;
  std::vector<uint32_t>* order_ = nullptr;
  size_t done_ = 0;
  double last_ns_ = 0, cpu_ns_ = 0;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_REPLAY_ENGINE_H_
