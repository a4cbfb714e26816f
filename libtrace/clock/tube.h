// SPDX-License-Identifier: Apache-2.0
//
// The tube is the set of offsets and slopes that a clock can have had at each node, given all gates
// before and after it and a limit on how fast the slope changes. docs/clocks.md has the proofs.
// Internal.
#ifndef LIBTRACE_CLOCK_TUBE_H_
#define LIBTRACE_CLOCK_TUBE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// A point on a count's time line. Offsets are host time minus the count's host base minus the
// position.
struct Node {
  enum class Kind : uint8_t {
    kBracket,     // a sample; its middle also serves as an estimate
    kConstraint,  // from an order of events, one-sided
    kCut,         // an announced change of frequency
    kFiller,      // has no information, but splits a long interval
  };
  Kind kind = Kind::kFiller;
  bool rejected = false;
  bool ptm = false;            // a bracket made from a cross-timestamp
  bool witness = false;        // a bracket that is narrow enough to contradict others
  bool repeated = false;       // a witness next to another one from the same sample
  bool wraps_guessed = false;  // see Reading
  double position_ns = 0;
  Range gate;  // the range of the offset
  // The announced change of the slope in ns/s is `turn`, with an uncertainty of `kick`, which is
  // infinite for a cut of unknown size.
  double turn = 0;
  double kick = 0;
  // The uncertainty of the offset after the change, since it may happen anywhere within a tick.
  double blur_ns = 0;
  // How much more the curve may bend here than for a clock at its nominal rate.
  double bend = 1;
};

// Returns how much more a curve may bend at a node. A clock's rate may drift by a fraction of
// itself per host second, but a curve counts nominal seconds, each of which lasts `slope` host
// seconds.
inline double BendOf(double slope) {
  // Near the nominal rate the assumed drift is generous enough.
  constexpr double kNominal = 1.1;
  return slope <= kNominal ? 1 : slope * slope;
}
inline double BendBetween(const Node& a, const Node& b) { return std::max(a.bend, b.bend); }

// Limits on how the clock may move.
struct Motion {
  double curvature = 0;  // ns/s^2, to be multiplied by the bend of the nodes
  Range slopes;          // ns/s, where nothing else is known
  double doubt = 1;      // the share of each announced kick's uncertainty that is allowed
};

// Converts the states before a node to those after it, or the reverse if `forward` is false.
// `slope` is the origin from which slopes are counted.
void PassKick(const Node& node, const Motion& motion, bool forward, double slope, Region* region);

// The nodes [first, last] that one smooth curve passes.
struct Piece {
  size_t first = 0;
  size_t last = 0;
  size_t witnesses = 0;
};

// Splits nodes, sorted by position, into smooth pieces. One or two brackets that disagree with
// everything before and after are marked as rejected; three in a row begin another piece.
std::vector<Piece> Segment(std::span<Node> nodes, const Motion& motion);

// Returns the nodes with the gates of brackets narrowed by `margin` on either side.
std::vector<Node> Narrowed(std::span<const Node> nodes, double margin);

// Returns true if one smooth curve passes all gates that are not rejected.
bool IsFeasible(std::span<const Node> nodes, const Motion& motion);

// The sets of possible states at each node.
class Tube {
 public:
  bool empty() const { return before_.empty(); }
  size_t size() const { return before_.size(); }
  // The states before and after the node's kick.
  const Region& Before(size_t node) const { return before_[node]; }
  const Region& After(size_t node) const;

 private:
  friend Tube Smooth(std::span<Node>, const Motion&, bool);
  std::vector<Region> before_;
  std::vector<std::pair<size_t, Region>> after_;  // for nodes with a kick, by node
};

// Marks gates that would leave no states as rejected and skips them. With brackets_only, also skips
// constraints. The tube is empty without a bracket.
Tube Smooth(std::span<Node> nodes, const Motion& motion, bool brackets_only);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_TUBE_H_
