// SPDX-License-Identifier: Apache-2.0
//
// The tube: what offset and slope a clock can have had at each node, given every
// gate before and after it and a limit on how fast the slope changes. Internal. Proofs:
// docs/clocks.md.
#ifndef LIBTRACE_CLOCK_TUBE_H_
#define LIBTRACE_CLOCK_TUBE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// A point of a count's time line. Offsets are host time less the count's host
// base less the position.
struct Node {
  enum class Kind : uint8_t {
    kBracket,     // a sample: its middle is an estimate too
    kConstraint,  // causal, one side
    kCut,         // the device announced a change of frequency
    kFiller,      // nothing: splits a long stretch
  };
  Kind kind = Kind::kFiller;
  bool rejected = false;
  bool ptm = false;            // a bracket that is a cross-timestamp
  bool witness = false;        // a bracket narrow enough to contradict others
  bool repeated = false;       // a witness beside another of the same sample
  bool wraps_guessed = false;  // see Reading
  double position_ns = 0;
  Range gate;  // the offset lies within
  // What the device announced of a change here, in ns/s of slope: it is `turn`, give or take
  // `kick`, which is infinite for a cut of unknown size.
  double turn = 0;
  double kick = 0;
  // How far the offset may be off after it, since the change came anywhere within a tick.
  double blur_ns = 0;
  // How much more the curve may bend here than a clock's that runs at its nominal rate.
  double bend = 1;
};

// How much more a curve may bend at a node. A clock wanders by so much of its rate in a second of
// the host's; a curve counts nominal seconds, which last `slope` host seconds each.
inline double BendOf(double slope) {
  // Near its nominal rate the assumption has room enough for it.
  constexpr double kNominal = 1.1;
  return slope <= kNominal ? 1 : slope * slope;
}
inline double BendBetween(const Node& a, const Node& b) { return std::max(a.bend, b.bend); }

// How the clock may move.
struct Motion {
  double curvature = 0;  // ns/s^2, times the bend of the nodes
  Range slopes;          // ns/s, where nothing is known
  double doubt = 1;      // of what devices announced: the share of each kick that is allowed
};

// The states behind a node from those before it, or with forward = false the reverse.
// slope: where slopes are counted from.
void PassKick(const Node& node, const Motion& motion, bool forward, double slope, Region* region);

// A stretch of nodes [first, last] that one smooth curve passes.
struct Piece {
  size_t first = 0;
  size_t last = 0;
  size_t witnesses = 0;
};

// Splits nodes, in order of position, into smooth pieces. One or two brackets that
// nothing before nor after agrees with are marked rejected; three in a row begin
// another piece.
std::vector<Piece> Segment(std::span<Node> nodes, const Motion& motion);

// The nodes with the gates of brackets narrower by `margin` on either side.
std::vector<Node> Narrowed(std::span<const Node> nodes, double margin);

// True if one smooth curve passes all gates that are not rejected.
bool IsFeasible(std::span<const Node> nodes, const Motion& motion);

// The possible states at each node.
class Tube {
 public:
  bool empty() const { return before_.empty(); }
  size_t size() const { return before_.size(); }
  // Before and after the node's kick.
  const Region& Before(size_t node) const { return before_[node]; }
  const Region& After(size_t node) const;

 private:
  friend Tube Smooth(std::span<Node>, const Motion&, bool);
  std::vector<Region> before_;
  std::vector<std::pair<size_t, Region>> after_;  // where there is a kick, by node
};

// Gates that leave nothing are marked rejected and passed by; with brackets_only,
// constraints are passed by too. Empty without a bracket.
Tube Smooth(std::span<Node> nodes, const Motion& motion, bool brackets_only);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_TUBE_H_
