// SPDX-License-Identifier: Apache-2.0
//
// Fits curves to the samples and constraints of a count. Internal.
#ifndef LIBTRACE_CLOCK_FIT_H_
#define LIBTRACE_CLOCK_FIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/estimator.h"
#include "libtrace/clock/map_data.h"
#include "libtrace/clock/tube.h"

namespace acceltrace::clock::internal {

// An announced change of frequency on the time line of a count.
struct CutMark {
  double position_ns = 0;
  double turn = 0;  // ns/s, as in Node
  double kick = kInfinity;
  double ratio = 0;  // new rate relative to the nominal one, 0 = not announced
};

// A constraint on the time line of a curve.
struct Bar {
  double position_ns = 0;
  Range gate;
};

// A smooth part of a curve, with everything needed to fit it again.
struct Stretch {
  std::vector<Node> nodes;
  Motion motion;          // for the bounds
  Motion mid_motion;      // for the estimate: as straight as the samples allow ...
  double mid_margin = 0;  // ... at this distance (in ns) from the edges of their gates
};

// A curve before it is fitted.
struct Draft {
  size_t count = 0;
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  bool smooth_front = true, smooth_back = true;
  bool step_front = false;  // see Curve
  bool loose = false;       // a bracket that is on no curve, so that nothing follows from it
  std::vector<Stretch> stretches;
};

// Changes of frequency on the time line of a count.
struct Cuts {
  std::vector<CutMark> marks;
  // A change was announced whose place is not known, so that single steps prove nothing.
  bool unplaced = false;
  // Whether the count is the first or the last one. In other counts, a cut outside of the samples
  // need not belong to the count.
  bool is_first = true, is_last = true;
  // A change whose place is not known was before or after all samples: nothing is known there.
  bool lost_front = false, lost_back = false;
};

// Splits a count where it jumped or broke. *rejected counts samples and cross-timestamps that are
// left out, *wrong those of the samples that others contradict.
std::vector<Draft> MakeDrafts(const TickLine& line, const Count& count, const Cuts& cuts,
                              const Rates& rates, const Options& options, uint64_t* rejected,
                              uint64_t* wrong);

// Keeps the constraints of a draft that are tightest in each interval and on each side, relative to
// the curve fitted so far.
class TightestBars {
 public:
  explicit TightestBars(const Draft& draft);
  // `at` is the curve's offset at the position of the bar.
  void Add(const Bar& bar, const Bounds& at);
  bool any() const { return any_; }
  // Returns how far the tightest bars at a position are from the curve on either side. Infinite
  // means that there is none yet, so that another one would help.
  Range RoomsAt(double position_ns) const;
  // Adds the bars to the draft, which must not have changed.
  void AddTo(Draft* draft) const;

 private:
  struct Tightest {
    Bar bar;
    double room = kInfinity;  // infinite if there is none yet
  };
  // One cell between each two nodes of a stretch.
  struct Cells {
    std::vector<double> positions_ns;  // of the nodes
    std::vector<Tightest> lower, upper;
    mutable size_t last = 0;  // the last cell that was asked for
    size_t At(double position_ns) const;
  };
  bool smooth_front_, smooth_back_;
  bool any_ = false;
  std::vector<Cells> stretches_;
};

// The clock is considered broken if this many orders between the same two samples contradict it.
// Like samples, three of them do not err alike by accident.
inline constexpr size_t kWrongOrders = 3;

// Splits a draft wherever so many contradicting events are between two of its brackets that the
// clock is at fault rather than an event. `positions` are those of the events, sorted. *before and
// *after are set if so many are outside of all brackets.
std::vector<Draft> BreakAt(Draft draft, std::span<const double> positions, bool* before,
                           bool* after);

// *rejected counts the constraints that contradicted each other.
Curve FitCurve(Draft* draft, uint64_t* rejected);

// Returns the bracket of a reading as a gate on the count's time line.
Range GateOf(const Count& count, const Reading& reading);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_FIT_H_
