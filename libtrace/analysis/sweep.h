// SPDX-License-Identifier: Apache-2.0
//
// How long is which of several states on, when the edges of what makes them up are known as
// intervals?
//
// A state is on while any of its pieces is. At an instant it is certainly on if one of them
// began before, whatever the true edges are, and ends after; it is possibly on if one of them
// may have. Time in which a condition on the states certainly holds is a lower bound of the
// time in which it does, and likewise above, in whatever order the edges truly lie. The
// estimate takes each edge where its middle is.
#ifndef LIBTRACE_ANALYSIS_SWEEP_H_
#define LIBTRACE_ANALYSIS_SWEEP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acceltrace::analysis {

// A position on a time line, between lo and hi.
struct Edge {
  int64_t lo = 0, mid = 0, hi = 0;
};

// States as bits: of one instant.
struct States {
  uint32_t certain = 0, possible = 0, likely = 0;

  bool certainly(int state) const { return (certain >> state) & 1; }
  bool possibly(int state) const { return (possible >> state) & 1; }
  bool probably(int state) const { return (likely >> state) & 1; }
};

class Sweep {
 public:
  static constexpr int kMostStates = 16;

  // Room for so many pieces; what is not used costs nothing.
  void Reserve(size_t pieces) { changes_.reserve(6 * pieces); }

  void Add(int state, const Edge& from, const Edge& to) {
    if (from.lo == from.hi && to.lo == to.hi) {  // known: one piece for all senses
      if (from.lo < to.lo) Push(state, kAll, from.lo, to.lo);
      return;
    }
    AddBounds(state, from, to);
    AddLikely(state, from.mid, to.mid);
  }
  void AddBounds(int state, const Edge& from, const Edge& to) {
    // A piece may be too short for what is known of its edges.
    if (from.hi < to.lo) Push(state, kCertain, from.hi, to.lo);
    if (from.lo < to.hi) Push(state, kPossible, from.lo, to.hi);
  }
  void AddLikely(int state, int64_t from, int64_t to) {
    if (from < to) Push(state, kLikely, from, to);
  }

  // visit(from, to, states): each stretch without an edge, in order.
  template <typename Visit>
  void Run(const Visit& visit) {
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.at < b.at; });
    uint32_t open[3][kMostStates] = {};
    uint32_t masks[3] = {};
    for (size_t i = 0; i < changes_.size();) {
      const int64_t at = changes_[i].at;
      for (; i < changes_.size() && changes_[i].at == at; ++i) {
        const Change& change = changes_[i];
        const uint32_t bit = 1u << change.state;
        const bool all = change.sense == kAll;
        for (int sense = all ? 0 : change.sense; sense <= (all ? kLikely : change.sense); ++sense) {
          uint32_t& count = open[sense][change.state];
          count += static_cast<uint32_t>(change.by);
          masks[sense] = count > 0 ? masks[sense] | bit : masks[sense] & ~bit;
        }
      }
      if (i == changes_.size()) break;
      visit(at, changes_[i].at, States{masks[kCertain], masks[kPossible], masks[kLikely]});
    }
  }

 private:
  enum Sense : uint8_t { kCertain, kPossible, kLikely, kAll };
  struct Change {
    int64_t at;
    uint8_t state;
    Sense sense;
    int8_t by;
  };

  void Push(int state, Sense sense, int64_t from, int64_t to) {
    changes_.push_back({from, static_cast<uint8_t>(state), sense, +1});
    changes_.push_back({to, static_cast<uint8_t>(state), sense, -1});
  }

  std::vector<Change> changes_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_SWEEP_H_
