// SPDX-License-Identifier: Apache-2.0
//
// Finds where a clock broke: unannounced jumps and steps.
#include "libtrace/clock/pieces.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acceltrace::clock::internal {

namespace {

// The number of brackets beyond a change of unknown size that are needed to test the slope.
constexpr size_t kWitnessesOfSlope = 3;
// Announced rates have the same reference as the clock itself, so they are nearly exact.
constexpr double kExact = 1e-6;
// Up to this many pieces, a clock is taken to have jumped or stepped rather than drifted.
constexpr size_t kFewBreaks = 4;
// A larger drift must leave at most one in this many breaks to count as their explanation.
constexpr size_t kExplains = 4;

bool IsOpen(const Node& node) { return node.kick != 0 && std::isinf(node.kick); }

// Returns true for a witness, unless it is a pair next to its own bracket.
bool IsWitness(const Node& node) {
  return node.kind == Node::Kind::kBracket && node.witness && !node.repeated && !node.rejected;
}

// Splits the nodes with the smallest drift that leaves the fewest breaks, since a clock that drifts
// faster than assumed looks as if it broke again and again. If there are only a few breaks, they
// are believed: a drift that hides a jump would give bounds that miss it. The same holds if a
// larger drift leaves many of the breaks; the clock then breaks where the assumed drift says so,
// but the bounds use the larger drift. *breaks is the motion that applies to breaks.
std::vector<Piece> SegmentWithLeastWander(std::vector<Node>* nodes, Motion* motion,
                                          Motion* breaks) {
  *breaks = *motion;
  const std::vector<Node> given = *nodes;
  std::vector<Piece> pieces = Segment(*nodes, *motion);
  if (pieces.size() <= kFewBreaks) return pieces;
  std::vector<Node> best_nodes;
  std::vector<Piece> best = pieces;
  for (double factor : {4.0, 16.0, 64.0}) {
    Motion trial = *breaks;
    trial.curvature *= factor;
    std::vector<Node> trial_nodes = given;
    std::vector<Piece> found = Segment(trial_nodes, trial);
    if (found.size() >= best.size()) continue;
    best = std::move(found);
    best_nodes = std::move(trial_nodes);
    motion->curvature = trial.curvature;
    if (best.size() <= 1) break;
  }
  if (best.size() == pieces.size() || kExplains * (best.size() - 1) > pieces.size() - 1) {
    return pieces;
  }
  *nodes = std::move(best_nodes);
  *breaks = *motion;
  return best;
}

}  // namespace

std::vector<Piece> SegmentBelieving(std::vector<Node>* nodes, Motion* motion, Motion* breaks) {
  std::vector<Node> exact_nodes = *nodes;
  std::vector<Piece> pieces = SegmentWithLeastWander(nodes, motion, breaks);
  const auto announced = [](const Node& node) { return node.kick != 0 && !std::isinf(node.kick); };
  if (std::none_of(nodes->begin(), nodes->end(), announced)) return pieces;
  Motion exact = *breaks;
  exact.doubt = kExact;
  std::vector<Piece> exact_pieces = Segment(exact_nodes, exact);
  if (exact_pieces.size() > pieces.size() + kFewBreaks) return pieces;
  *nodes = std::move(exact_nodes);
  *breaks = exact;
  return exact_pieces;
}

std::vector<Piece> SplitUntested(std::span<const Node> nodes, std::vector<Piece> pieces) {
  std::vector<Piece> tested;
  while (!pieces.empty()) {
    Piece piece = pieces.back();
    pieces.pop_back();
    std::vector<size_t> witnesses;
    for (size_t i = piece.first; i <= piece.last; ++i) {
      if (IsWitness(nodes[i])) witnesses.push_back(i);
    }
    const auto apart = [&](size_t a, size_t b) {
      return nodes[witnesses[b]].position_ns - nodes[witnesses[a]].position_ns;
    };
    size_t split = 0;
    for (size_t w = 1; w < witnesses.size() && split == 0; ++w) {
      const double gap = apart(w - 1, w);
      if (gap > apart(0, w - 1) && gap > apart(w, witnesses.size() - 1)) split = w;
    }
    if (split == 0) {
      tested.push_back(piece);
      continue;
    }
    pieces.push_back({piece.first, witnesses[split - 1], split});
    pieces.push_back({witnesses[split], piece.last, witnesses.size() - split});
  }
  std::reverse(tested.begin(), tested.end());
  return tested;
}

void ExtendBackwards(std::span<Node> nodes, size_t floor, const Motion& motion, bool over_open,
                     Piece* piece) {
  Tube states = Smooth(nodes.subspan(piece->first, piece->last - piece->first + 1), motion, true);
  if (states.empty()) return;
  Region region = states.Before(0);
  for (size_t i = piece->first; i-- > floor;) {
    const double seconds = (nodes[i + 1].position_ns - nodes[i].position_ns) * 1e-9;
    region.Advance(-seconds, motion.curvature * BendBetween(nodes[i], nodes[i + 1]));
    if (!over_open && IsOpen(nodes[i])) break;
    // The slope of a short piece does not show what happened long before it.
    const double first_ns = nodes[piece->first].position_ns;
    const double span_ns = nodes[piece->last].position_ns - first_ns;
    if (!over_open && first_ns - nodes[i].position_ns > span_ns) break;
    PassKick(nodes[i], motion, false, 0, &region);
    if (nodes[i].kind != Node::Kind::kBracket || nodes[i].rejected) continue;
    if (!region.ClipOffset(nodes[i].gate)) break;
    piece->first = i;
  }
}

void TrimUntested(std::span<const Node> nodes, Piece* piece) {
  const auto is_own = [](const Node& node) { return IsBracket(node) && !node.ptm; };
  // Takes the positions of the change and of the nearest and the farthest bracket.
  const auto is_tested = [](size_t brackets, double change, double near, double far) {
    return brackets >= kWitnessesOfSlope && std::abs(far - near) >= std::abs(near - change);
  };
  while (true) {
    size_t cut = piece->last, brackets = 0;
    double near = 0, far = 0;
    for (; cut > piece->first && !IsOpen(nodes[cut]); --cut) {
      if (!is_own(nodes[cut])) continue;
      near = nodes[cut].position_ns;
      if (brackets++ == 0) far = near;
    }
    if (cut == piece->first || is_tested(brackets, nodes[cut].position_ns, near, far)) break;
    while (cut > piece->first && !IsBracket(nodes[cut])) --cut;
    piece->last = cut;
  }
  while (true) {
    size_t cut = piece->first, brackets = 0;
    double near = 0, far = 0;
    for (; cut < piece->last && !IsOpen(nodes[cut]); ++cut) {
      if (!is_own(nodes[cut])) continue;
      near = nodes[cut].position_ns;
      if (brackets++ == 0) far = near;
    }
    if (cut == piece->last || is_tested(brackets, nodes[cut].position_ns, near, far)) break;
    while (cut < piece->last && !IsBracket(nodes[cut])) ++cut;
    piece->first = cut;
  }
}

void TrimGuessed(std::span<const Node> nodes, Piece* piece) {
  size_t guessed = piece->last;
  while (guessed > piece->first && !(IsBracket(nodes[guessed]) && nodes[guessed].wraps_guessed)) {
    --guessed;
  }
  size_t before = guessed;
  while (before > piece->first && !(before < guessed && IsBracket(nodes[before]))) --before;
  if (before == guessed || !IsBracket(nodes[before])) return;
  const double at_ns = nodes[guessed].position_ns;
  const double confirmed_ns = nodes[piece->last].position_ns - at_ns;
  if (confirmed_ns < at_ns - nodes[before].position_ns) piece->last = before;
}

namespace {

// Returns true if a single change of frequency explains the gap between two pieces.
bool IsKink(std::span<Node> nodes, const Piece& left, const Piece& right, const Motion& motion) {
  const Tube left_tube =
      Smooth(nodes.subspan(left.first, left.last - left.first + 1), motion, true);
  const Tube right_tube =
      Smooth(nodes.subspan(right.first, right.last - right.first + 1), motion, true);
  if (left_tube.empty() || right_tube.empty()) return false;
  const Region& l = left_tube.After(left_tube.size() - 1);
  const Region& r = right_tube.Before(0);
  const double from = nodes[left.last].position_ns;
  const double gap_s = (nodes[right.first].position_ns - from) * 1e-9;
  const double curvature = motion.curvature * BendBetween(nodes[left.last], nodes[right.first]);
  const double swing = curvature * gap_s;
  const Range ls = l.Slopes(), rs = r.Slopes();
  const bool slower = rs.lo - swing > ls.hi + swing;
  const bool faster = rs.hi + swing < ls.lo - swing;
  if (!slower && !faster) return false;
  const auto bounds = [&](double position_ns) {
    const double a = (position_ns - from) * 1e-9, b = gap_s - a;
    Range x = l.OffsetAt(a), y = r.OffsetAt(-b);
    const double bend_a = 0.5 * curvature * a * a, bend_b = 0.5 * curvature * b * b;
    x = {x.lo - bend_a, x.hi + bend_a}, y = {y.lo - bend_b, y.hi + bend_b};
    return slower ? Range{std::max(x.lo, y.lo), std::max(x.hi, y.hi)}
                  : Range{std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
  };
  for (size_t i = left.last; i <= right.first; ++i) {
    if (nodes[i].kind != Node::Kind::kBracket || nodes[i].rejected) continue;
    const Range range = bounds(nodes[i].position_ns);
    if (range.hi < nodes[i].gate.lo || range.lo > nodes[i].gate.hi) return false;
  }
  return true;
}

}  // namespace

void LeaveOpen(std::span<Node> nodes, const Motion& motion, Piece* left, const Piece& right) {
  Piece back = right;
  ExtendBackwards(nodes, left->first + 1, motion, true, &back);
  if (back.first > left->last) return;
  size_t last = back.first - 1;
  while (last > left->first && (nodes[last].kind != Node::Kind::kBracket || nodes[last].rejected)) {
    --last;
  }
  left->last = last;
  left->witnesses = static_cast<size_t>(
      std::count_if(nodes.begin() + static_cast<ptrdiff_t>(left->first),
                    nodes.begin() + static_cast<ptrdiff_t>(last) + 1, IsWitness));
}

std::vector<bool> FindSteps(std::span<Node> nodes, const Motion& motion, bool single_steps,
                            std::vector<Piece>* pieces) {
  std::vector<bool> steps(pieces->size(), false);
  for (size_t p = 1; p < pieces->size(); ++p) {
    Piece& left = (*pieces)[p - 1];
    Piece& right = (*pieces)[p];
    const auto guessed = [](const Node& node) { return node.wraps_guessed; };
    const auto begin = nodes.begin();
    // Wraps that were counted by the rate are uncertain where the rate changed.
    LeaveOpen(nodes, motion, &left, right);
    const auto from = begin + static_cast<ptrdiff_t>(left.last) + 1;
    const auto to = begin + static_cast<ptrdiff_t>(right.first) + 1;
    const bool counted = std::none_of(from, to, guessed);
    // An announced change in the gap cannot be the only one, since it did not prevent the break.
    const bool single = std::none_of(from, to, [](const Node& node) { return node.kick != 0; });
    steps[p] = single_steps && counted && single && IsKink(nodes, left, right, motion);
  }
  return steps;
}

}  // namespace acceltrace::clock::internal
