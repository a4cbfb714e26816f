// SPDX-License-Identifier: Apache-2.0
//
// One count's samples and constraints to curves. Internal.
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

// A change of frequency announced by the device, on a count's time line.
struct CutMark {
  double position_ns = 0;
  double turn = 0;  // ns/s, as in Node
  double kick = kInfinity;
  double ratio = 0;  // of the rate from then on to the nominal one, 0 = not announced
};

// A causal constraint on a curve's time line.
struct Bar {
  double position_ns = 0;
  Range gate;
};

// A smooth stretch with everything needed to fit it again.
struct Stretch {
  std::vector<Node> nodes;
  Motion motion;          // of the bounds
  Motion mid_motion;      // of the estimate: as straight as the samples allow ...
  double mid_margin = 0;  // ... and so far (ns) from the edges of their gates
};

// A curve in the making.
struct Draft {
  size_t count = 0;
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  bool smooth_front = true, smooth_back = true;
  bool step_front = false;  // see Curve
  bool loose = false;       // one bracket that is on no curve: nothing follows from it
  std::vector<Stretch> stretches;
};

// Changes of frequency on a count's line.
struct Cuts {
  std::vector<CutMark> marks;
  // One was announced whose place is open: single steps prove nothing.
  bool unplaced = false;
  // Whether the count is the first or the last one: else a cut beyond its samples need not
  // have been on it.
  bool is_first = true, is_last = true;
  // One whose place is open lies before or after all samples: nothing is known from there on.
  bool lost_front = false, lost_back = false;
};

// Splits a count where it jumped or broke. *rejected counts samples and cross-timestamps
// that are left out, *wrong those of the former that the others contradict.
std::vector<Draft> MakeDrafts(const TickLine& line, const Count& count, const Cuts& cuts,
                              const Rates& rates, const Options& options, uint64_t* rejected,
                              uint64_t* wrong);

// Constraints for a draft: of each stretch of time the tightest on each side, as the curve fitted
// so far shows.
class TightestBars {
 public:
  explicit TightestBars(const Draft& draft);
  // at: the curve's offset at the bar's position.
  void Add(const Bar& bar, const Bounds& at);
  bool any() const { return any_; }
  // What the tightest on each side leave at a position; infinite: one more may be of use.
  Range RoomsAt(double position_ns) const;
  // Puts them on the draft, which is as it was.
  void AddTo(Draft* draft) const;

 private:
  struct Tightest {
    Bar bar;
    double room = kInfinity;  // nothing so far
  };
  // By cell between the nodes of a stretch.
  struct Cells {
    std::vector<double> positions_ns;  // of the nodes
    std::vector<Tightest> lower, upper;
    mutable size_t last = 0;  // the one that was asked for before
    size_t At(double position_ns) const;
  };
  bool smooth_front_, smooth_back_;
  bool any_ = false;
  std::vector<Cells> stretches_;
};

// So many orders that are wrong between the same two samples: as with samples, three do not
// err alike by accident.
inline constexpr size_t kWrongOrders = 3;

// Splits a draft wherever so many of the events that contradict its curve lie between two of
// its brackets that the clock, and not one of them, must be at fault. positions: of these
// events, in order. *before and *after are set when they lie outside of all brackets.
std::vector<Draft> BreakAt(Draft draft, std::span<const double> positions, bool* before,
                           bool* after);

// *rejected counts constraints that contradicted each other.
Curve FitCurve(Draft* draft, uint64_t* rejected);

// The bracket of a reading on the count's time line, as a gate.
Range GateOf(const Count& count, const Reading& reading);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_FIT_H_
