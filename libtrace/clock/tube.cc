// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/tube.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acceltrace::clock::internal {

namespace {

// This many contradicting brackets in a row begin another piece.
constexpr size_t kWitnessesOfBreak = 3;

// The largest number of nodes that are examined again after a break.
constexpr size_t kMaxPending = 1000;

double SecondsBetween(const Node& from, const Node& to) {
  return (to.position_ns - from.position_ns) * 1e-9;
}

Region Start(const Node& node, const Motion& motion) {
  return Region::Box(node.gate, motion.slopes);
}

bool HasBothSides(const Node& node) {
  return !std::isinf(node.gate.lo) && !std::isinf(node.gate.hi);
}

// Returns a polyline near the clock through about one bracket per second, with its slope after each
// node. Sets are counted relative to it: with offsets of minutes, rounding errors would rotate the
// edges of sets that are only a few ns wide.
std::vector<State> Origins(std::span<const Node> nodes) {
  constexpr double kStepNs = 1e9;
  std::vector<std::pair<double, double>> anchors;  // position, offset
  bool after_cut = false;
  for (const Node& node : nodes) {
    after_cut |= node.kick != 0;
    if (!HasBothSides(node) || node.rejected) continue;
    if (anchors.empty() || after_cut || node.position_ns >= anchors.back().first + kStepNs) {
      if (!anchors.empty() && node.position_ns <= anchors.back().first) continue;
      anchors.emplace_back(node.position_ns, 0.5 * (node.gate.lo + node.gate.hi));
      after_cut = false;
    }
  }
  std::vector<State> origins(nodes.size());
  size_t a = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    while (a + 2 < anchors.size() && anchors[a + 1].first <= nodes[i].position_ns) ++a;
    const auto& from = anchors[a];
    if (anchors.size() > 1) {
      const auto& to = anchors[a + 1];
      origins[i].slope = (to.second - from.second) / ((to.first - from.first) * 1e-9);
    }
    origins[i].offset = from.second + origins[i].slope * (nodes[i].position_ns - from.first) * 1e-9;
  }
  return origins;
}

// Intersects two sets that both contain the state. If they only touch, rounding may leave nothing;
// then either set is right to within rounding.
void Meet(const Region& future, bool has_past, Region* past) {
  if (!has_past) {
    *past = future;
    return;
  }
  Region met = *past;
  if (met.Intersect(future)) *past = met;
}

}  // namespace

void PassKick(const Node& node, const Motion& motion, bool forward, double slope, Region* region) {
  if (node.kick == 0) return;
  const double kick = std::isinf(node.kick) ? node.kick : motion.doubt * node.kick;
  region->Shift(0, forward ? node.turn : -node.turn);
  region->Kick(kick, {motion.slopes.lo - slope, motion.slopes.hi - slope});
  // For an announced change, the size is uncertain by `doubt`, and the place always by a tick.
  region->Blur((std::isinf(node.kick) ? 1 : 0.5 * (1 + motion.doubt)) * node.blur_ns);
}

std::vector<Piece> Segment(std::span<Node> nodes, const Motion& motion) {
  std::vector<Piece> pieces;
  Region region;
  std::vector<size_t> failed;  // brackets since the last one that agreed
  size_t i = 0;
  while (i < nodes.size() || !failed.empty()) {
    const bool at_end = i == nodes.size();
    if (at_end || failed.size() == kWitnessesOfBreak ||
        (!failed.empty() && i - failed.front() > kMaxPending)) {
      // The first contradicting bracket begins another piece; continue from there.
      i = failed.front();
      region = Region();
      failed.clear();
    }
    Node& node = nodes[i];
    if (region.empty()) {
      if (HasBothSides(node)) {
        region = Start(node, motion);
        pieces.push_back({i, i, node.witness ? size_t{1} : size_t{0}});
      }
      ++i;
      continue;
    }
    region.Advance(SecondsBetween(nodes[i - 1], node),
                   motion.curvature * BendBetween(nodes[i - 1], node));
    PassKick(node, motion, true, 0, &region);
    Region clipped = region;
    if (!clipped.ClipOffset(node.gate)) {
      failed.push_back(i);
    } else if (node.kind == Node::Kind::kBracket) {
      region = clipped;
      if (node.witness) {
        for (size_t outlier : failed) nodes[outlier].rejected = true;
        failed.clear();
      }
      // A wide bracket passes anything, so it does not overrule those that contradict.
      if (failed.empty()) pieces.back().last = i;
      pieces.back().witnesses += node.witness && !node.repeated;
    }
    ++i;
  }
  return pieces;
}

std::vector<Node> Narrowed(std::span<const Node> nodes, double margin) {
  std::vector<Node> narrowed(nodes.begin(), nodes.end());
  for (Node& node : narrowed) {
    if (node.kind != Node::Kind::kBracket) continue;
    node.gate.lo += margin;
    node.gate.hi -= margin;
  }
  return narrowed;
}

bool IsFeasible(std::span<const Node> nodes, const Motion& motion) {
  Region region;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (region.empty()) {
      if (HasBothSides(node) && !node.rejected) region = Start(node, motion);
      continue;
    }
    region.Advance(SecondsBetween(nodes[i - 1], node),
                   motion.curvature * BendBetween(nodes[i - 1], node));
    PassKick(node, motion, true, 0, &region);
    if (!node.rejected && !region.ClipOffset(node.gate)) return false;
  }
  return true;
}

Tube Smooth(std::span<Node> nodes, const Motion& motion, bool brackets_only) {
  const auto passed_by = [&](const Node& node) {
    return node.rejected || (brackets_only && node.kind == Node::Kind::kConstraint);
  };
  size_t start = 0;
  while (start < nodes.size() && (!HasBothSides(nodes[start]) || passed_by(nodes[start]))) ++start;
  if (start == nodes.size()) return {};

  const std::vector<State> origins = Origins(nodes);
  const auto clip = [&](size_t i, Region* region) {
    if (passed_by(nodes[i])) return;
    Region clipped = *region;
    const double origin = origins[i].offset;
    if (clipped.ClipOffset({nodes[i].gate.lo - origin, nodes[i].gate.hi - origin})) {
      *region = clipped;
    } else {
      nodes[i].rejected = true;
    }
  };
  const auto kick = [&](size_t i, bool forward, Region* region) {
    PassKick(nodes[i], motion, forward, origins[i].slope, region);
  };
  // Steps between nodes i and i + 1, each of which has its own origin.
  const auto step = [&](size_t i, bool forward, Region* region) {
    const double seconds = SecondsBetween(nodes[i], nodes[i + 1]);
    const double offset = origins[i].offset + origins[i].slope * seconds - origins[i + 1].offset;
    const double slope = origins[i].slope - origins[i + 1].slope;
    const double curvature = motion.curvature * BendBetween(nodes[i], nodes[i + 1]);
    if (forward) {
      region->Advance(seconds, curvature);
      region->Shift(offset, slope);
    } else {
      region->Shift(-offset, -slope);
      region->Advance(-seconds, curvature);
    }
  };

  // The forward pass computes what the past allows. Before `start` that is everything.
  Tube tube;
  tube.before_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kick != 0) tube.after_.emplace_back(i, Region());
  }
  auto after = tube.after_.begin();
  Region region = Region::Box(nodes[start].gate, motion.slopes);
  region.Shift(-origins[start].offset, -origins[start].slope);
  for (size_t i = start; i < nodes.size(); ++i) {
    if (i > start) {
      step(i - 1, true, &region);
      clip(i, &region);
    }
    tube.before_[i] = region;
    if (nodes[i].kick == 0) continue;
    kick(i, true, &region);
    while (after->first != i) ++after;  // skip those before `start`
    after->second = region;
  }
  // The backward pass intersects this with what the future allows. It starts from the last forward
  // set, where both are the same.
  after = tube.after_.end();
  for (size_t i = nodes.size(); i-- > 0;) {
    if (i + 1 < nodes.size()) step(i, false, &region);
    if (nodes[i].kick != 0) {
      --after;  // there is one for each kick
      Meet(region, i >= start, &after->second);
      kick(i, false, &region);
    }
    clip(i, &region);
    Meet(region, i >= start, &tube.before_[i]);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    tube.before_[i].Shift(origins[i].offset, origins[i].slope);
  }
  for (auto& [node, states] : tube.after_) {
    states.Shift(origins[node].offset, origins[node].slope);
  }
  return tube;
}

const Region& Tube::After(size_t node) const {
  const auto found =
      std::lower_bound(after_.begin(), after_.end(), node,
                       [](const auto& entry, size_t wanted) { return entry.first < wanted; });
  return found != after_.end() && found->first == node ? found->second : before_[node];
}

}  // namespace acceltrace::clock::internal
