// SPDX-License-Identifier: Apache-2.0
//
// Where a clock broke: the smooth pieces of a count, and what lies between them. Internal.
#ifndef LIBTRACE_CLOCK_PIECES_H_
#define LIBTRACE_CLOCK_PIECES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "libtrace/clock/tube.h"

namespace acceltrace::clock::internal {

inline bool IsBracket(const Node& node) {
  return node.kind == Node::Kind::kBracket && !node.rejected;
}

// Segments as if the rates that the device announced were exact, so that nothing else hides in a
// announced change. If that breaks the curve more than a few times, it was not exact.
std::vector<Piece> SegmentBelieving(std::vector<Node>* nodes, Motion* motion, Motion* breaks);

// Splits pieces of a clock that broke where a gap between witnesses is longer than all that is
// on either side of it: neither side gives the slope well enough to show that nothing jumped
// between them, and a burst of samples is one place, however many. A piece has at most one such
// gap, its parts may have others.
std::vector<Piece> SplitUntested(std::span<const Node> nodes, std::vector<Piece> pieces);

// Takes dissolved brackets before a piece that its curve passes back into it. Over a change of
// unknown size (if `over_open`) almost any passes: that shows which are in doubt, no more.
void ExtendBackwards(std::span<Node> nodes, size_t floor, const Motion& motion, bool over_open,
                     Piece* piece);

// The break between two pieces lies anywhere from where the second one's curve passes the first
// one's brackets to where the first one's fails. What both pass is neither's.
void LeaveOpen(std::span<Node> nodes, const Motion& motion, Piece* left, const Piece& right);

// Beyond a change whose size is not known the slope is whatever the next bracket makes it, and
// before one the last. Where the curve broke soon after, or had broken, or another change beside
// it was not announced, that may be a bracket of the other side: such ends are taken off. What
// tests the slope are brackets no closer to each other than to the change: a burst of them is one.
void TrimUntested(std::span<const Node> nodes, Piece* piece);

// Of the last piece of a count that ended as the clock broke: where the rate counted wraps, a
// sample lies on the curve by accident once in some thousand times, and the clock may have broken
// before it. So what nothing behind it confirms is taken off; a burst of brackets is one.
void TrimGuessed(std::span<const Node> nodes, Piece* piece);

// Which pieces may go on from the one before them with a single change of frequency in between:
// that is likely then, and no more. A jump beside it would look the same.
std::vector<bool> FindSteps(std::span<Node> nodes, const Motion& motion, bool single_steps,
                            std::vector<Piece>* pieces);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_PIECES_H_
