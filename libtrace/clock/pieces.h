// SPDX-License-Identifier: Apache-2.0
//
// Finds where a clock broke: the smooth pieces of a count, and the gaps between them. Internal.
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

// Splits the nodes as if announced rates were exact, so that nothing else can hide in an announced
// change. If that causes more than a few additional breaks, the rates are not exact and are given
// their uncertainty.
std::vector<Piece> SegmentBelieving(std::vector<Node>* nodes, Motion* motion, Motion* breaks);

// Splits the pieces of a clock that broke at gaps between witnesses that are longer than all that
// remains of the piece on either side. There, neither side determines the slope well enough to rule
// out a jump, and a burst of samples counts as one place. A piece has at most one such gap, but its
// parts may have others.
std::vector<Piece> SplitUntested(std::span<const Node> nodes, std::vector<Piece> pieces);

// Extends a piece backwards over brackets of dissolved pieces that its curve passes. Across a
// change of unknown size (if `over_open`) nearly every bracket passes, which only shows which ones
// are in doubt.
void ExtendBackwards(std::span<Node> nodes, size_t floor, const Motion& motion, bool over_open,
                     Piece* piece);

// The break between two pieces may be anywhere between the first of the left piece's brackets that
// the right curve passes and the last one that the left curve passes. Brackets that both curves
// pass belong to neither piece.
void LeaveOpen(std::span<Node> nodes, const Motion& motion, Piece* left, const Piece& right);

// Beyond a change of unknown size the slope is determined by a single bracket at the piece's end.
// If the curve also broke nearby, or another change beside it was not announced, that bracket may
// belong to the other side, so such ends are removed. The slope is only tested by brackets that are
// farther from each other than from the change; a burst counts as one.
void TrimUntested(std::span<const Node> nodes, Piece* piece);

// Trims the last piece of a count that ended because the clock broke. Where wraps were counted by
// the rate, about one sample in a thousand is on the curve by accident, and the clock may have
// broken before it. Brackets that no later ones confirm are removed; a burst counts as one.
void TrimGuessed(std::span<const Node> nodes, Piece* piece);

// Finds the pieces that may continue the previous one after a single change of frequency. This is
// likely but not certain: a jump next to the change would look the same.
std::vector<bool> FindSteps(std::span<Node> nodes, const Motion& motion, bool single_steps,
                            std::vector<Piece>* pieces);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_PIECES_H_
