// SPDX-License-Identifier: Apache-2.0
//
// How long do states last if the edges of their pieces are only known as intervals?
//
// A state is on while any of its pieces is. At an instant it is certainly on if, whatever the true
// edges are, a piece has begun before and ends after it; it is possibly on if this holds for some
// edges. The time in which a condition on the states certainly holds is a lower bound of the time
// in which it does, and the possible time an upper bound, in whatever order the true edges are. The
// estimate uses the middle of each edge.
#ifndef LIBTRACE_ANALYSIS_ROWS_SWEEP_H_
#define LIBTRACE_ANALYSIS_ROWS_SWEEP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/analysis/rows/radix.h"

namespace acceltrace::analysis {

// A position on a time line, between lo and hi.
struct Edge {
  int64_t lo = 0, mid = 0, hi = 0;
};

// The states at one instant, as bits.
struct States {
  uint32_t certain = 0, possible = 0, likely = 0;

  bool certainly(int state) const { return (certain >> state) & 1; }
  bool possibly(int state) const { return (possible >> state) & 1; }
  bool probably(int state) const { return (likely >> state) & 1; }
};

class Sweep {
 public:
  static constexpr int kMostStates = 16;

  // Reserves memory for a number of pieces; what is not used is not touched.
  void Reserve(size_t pieces) { near_.reserve(6 * pieces); }

  void Add(int state, const Edge& from, const Edge& to) {
    if (from.lo == from.hi && to.lo == to.hi) {  // the edges are known: one piece for all senses
      if (from.lo < to.lo) Push(state, kAll, from.lo, to.lo);
      return;
    }
    AddBounds(state, from, to);
    AddLikely(state, from.mid, to.mid);
  }
  void AddBounds(int state, const Edge& from, const Edge& to) {
    // A piece may be shorter than the uncertainty of its edges.
    if (from.hi < to.lo) Push(state, kCertain, from.hi, to.lo);
    if (from.lo < to.hi) Push(state, kPossible, from.lo, to.hi);
  }
  void AddLikely(int state, int64_t from, int64_t to) {
    if (from < to) Push(state, kLikely, from, to);
  }

  // Calls visit(from, to, states) for each interval without an edge, in order.
  template <typename Visit>
  void Run(const Visit& visit) {
    if (!far_.empty()) {
      std::sort(far_.begin(), far_.end(),
                [](const Change& a, const Change& b) { return a.at < b.at; });
      return Walk(
          far_, [](const Change& change) { return change; }, visit);
    }
    SortByNumber([](uint64_t packed) { return packed >> kCodeBits; }, &near_);
    Walk(
        near_, [this](uint64_t packed) { return Unpacked(packed); }, visit);
  }

 private:
  enum Sense : uint8_t { kCertain, kPossible, kLikely, kAll };
  struct Change {
    int64_t at;
    uint8_t state;
    Sense sense;
    int8_t by;
  };
  // A packed change has the state, the sense and the direction in its low bits, and its distance
  // from the first one above them.
  static constexpr int kCodeBits = 7;
  static constexpr uint64_t kMiddle = uint64_t{1} << (63 - kCodeBits);

  template <typename Of, typename Get, typename Visit>
  static void Walk(const std::vector<Of>& changes, const Get& get, const Visit& visit) {
    uint32_t open[3][kMostStates] = {};
    uint32_t masks[3] = {};
    for (size_t i = 0; i < changes.size();) {
      Change change = get(changes[i]);
      const int64_t at = change.at;
      do {
        const uint32_t bit = 1u << change.state;
        const bool all = change.sense == kAll;
        for (int sense = all ? 0 : change.sense; sense <= (all ? kLikely : change.sense); ++sense) {
          uint32_t& count = open[sense][change.state];
          count += static_cast<uint32_t>(change.by);
          masks[sense] = count > 0 ? masks[sense] | bit : masks[sense] & ~bit;
        }
        if (++i == changes.size()) return;
        change = get(changes[i]);
      } while (change.at == at);
      visit(at, change.at, States{masks[kCertain], masks[kPossible], masks[kLikely]});
    }
  }

  Change Unpacked(uint64_t packed) const {
    return {base_ + static_cast<int64_t>((packed >> kCodeBits) - kMiddle),
            static_cast<uint8_t>(packed & (kMostStates - 1)), static_cast<Sense>(packed >> 4 & 3),
            static_cast<int8_t>(packed >> 6 & 1 ? 1 : -1)};
  }

  void Push(int state, Sense sense, int64_t from, int64_t to) {
    PushOne(from, state, sense, 1);
    PushOne(to, state, sense, 0);
  }
  void PushOne(int64_t at, int state, Sense sense, uint64_t on) {
    if (near_.empty() && far_.empty()) base_ = at;
    const uint64_t distance = static_cast<uint64_t>(at) - static_cast<uint64_t>(base_) + kMiddle;
    if (far_.empty() && distance < 2 * kMiddle) {
      near_.push_back(distance << kCodeBits | on << 6 | uint64_t{sense} << 4 |
                      static_cast<uint64_t>(state));
      return;
    }
    // Damaged data may be too far apart for packing.
    for (const uint64_t packed : near_) far_.push_back(Unpacked(packed));
    std::vector<uint64_t>().swap(near_);
    far_.push_back({at, static_cast<uint8_t>(state), sense, static_cast<int8_t>(on != 0 ? 1 : -1)});
  }

  int64_t base_ = 0;
  std::vector<uint64_t> near_;  // has either all changes or none
  std::vector<Change> far_;
};

// Sums up time by state. What a state means only has to be decided once for each of the few
// combinations of states that occur.
class StateTimes {
 public:
  void Add(const States& on, int64_t ns) {
    if (last_ == nullptr || last_->certain != on.certain || last_->possible != on.possible ||
        last_->likely != on.likely) {
      Find(on);
    }
    last_->ns += ns;
  }
  // Calls visit(states, ns) for each combination.
  template <typename Visit>
  void Each(const Visit& visit) const {
    for (const auto& [key, time] : times_) {
      visit(States{time.certain, time.possible, time.likely}, time.ns);
    }
  }

 private:
  struct Time {
    uint32_t certain = 0, possible = 0, likely = 0;
    int64_t ns = 0;
  };
  void Find(const States& on) {
    static_assert(Sweep::kMostStates <= 21);
    const uint64_t key =
        uint64_t{on.certain} << 42 | uint64_t{on.possible} << 21 | uint64_t{on.likely};
    last_ = &times_[key];
    last_->certain = on.certain, last_->possible = on.possible, last_->likely = on.likely;
  }

  std::unordered_map<uint64_t, Time> times_;
  Time* last_ = nullptr;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_SWEEP_H_
