// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/fit.h"

#include <algorithm>
#include <cmath>

namespace acceltrace::clock::internal {

namespace {

// Straight curves are all equally likely, so their mean is used. Of bent curves the offsets are
// equally likely, but a bend leaves more states on its inner side, which would shift the mean.
State Estimate(const Region& states, bool straight) {
  State mid = states.Centroid();
  const Range offset = states.OffsetAt(0);
  if (!straight) mid.offset = 0.5 * (offset.lo + offset.hi);
  return mid;
}

Knot BoundKnot(const Node& node, const Region& states) {
  const Range offset = states.OffsetAt(0), slope = states.Slopes();
  return {node.position_ns, offset.lo, 0, offset.hi, slope.lo, 0, slope.hi, node.bend};
}

void SetMid(const State& mid, Knot* knot) {
  knot->mid = std::clamp(mid.offset, knot->lo, knot->hi);
  knot->slope_mid = std::clamp(mid.slope, knot->slope_lo, knot->slope_hi);
}

// Recovers the precision that simplifying the regions lost: at a bracket by its gate, and between
// two brackets by the chord, from which no curve of bounded bend departs by more than curvature * a
// * b / 2.
void Tighten(std::span<const Node> nodes, std::span<const size_t> knot_of, double curvature,
             std::vector<Knot>* knots) {
  const auto cut = [](Knot* knot, double lo, double hi) {
    knot->lo = std::max(knot->lo, lo), knot->hi = std::min(knot->hi, hi);
    knot->mid = std::clamp(knot->mid, knot->lo, knot->hi);
  };
  size_t left = nodes.size();  // the last bracket, if there was no kick since
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kick != 0) left = nodes.size();
    if (nodes[i].kind != Node::Kind::kBracket || nodes[i].rejected) continue;
    Knot& right = (*knots)[knot_of[i]];
    cut(&right, nodes[i].gate.lo, nodes[i].gate.hi);
    double most = 1;
    for (size_t k = left; k <= i && left < i; ++k) most = std::max(most, nodes[k].bend);
    for (size_t k = left + 1; k < i; ++k) {
      const Knot& from = (*knots)[knot_of[left]];
      const double a = nodes[k].position_ns - nodes[left].position_ns;
      const double b = nodes[i].position_ns - nodes[k].position_ns;
      const double weight = a + b > 0 ? a / (a + b) : 0;
      const double bend = 0.5 * curvature * most * a * b * 1e-18;
      cut(&(*knots)[knot_of[k]], from.lo + weight * (right.lo - from.lo) - bend,
          from.hi + weight * (right.hi - from.hi) + bend);
    }
    left = i;
  }
}

struct Fitted {
  std::vector<Knot> knots;
  std::vector<size_t> cuts;
  End front, back;
};

// Computes the bounds before the estimate, so that only one tube is in memory at a time.
Fitted FitStretch(Stretch* stretch, uint64_t* rejected) {
  std::vector<Node>& nodes = stretch->nodes;
  Fitted fitted;
  std::vector<size_t> knot_of;  // by node; the knot after a kick follows its knot
  {
    Tube bounds = Smooth(nodes, stretch->motion, false);
    if (bounds.empty()) {
      // Impossible announced changes contradict every bracket; these are then used alone.
      for (Node& node : nodes) {
        node.rejected &= node.kind != Node::Kind::kBracket;
        node.turn = 0, node.kick = node.kind == Node::Kind::kCut ? kInfinity : 0;
      }
      bounds = Smooth(nodes, stretch->motion, false);
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      knot_of.push_back(fitted.knots.size());
      *rejected += nodes[i].kind == Node::Kind::kConstraint && nodes[i].rejected;
      fitted.knots.push_back(BoundKnot(nodes[i], bounds.Before(i)));
      if (nodes[i].kick == 0) continue;
      fitted.cuts.push_back(fitted.knots.size() - 1);
      fitted.knots.push_back(BoundKnot(nodes[i], bounds.After(i)));
    }
    fitted.front.states = bounds.Before(0);
    fitted.back.states = bounds.After(nodes.size() - 1);
  }
  const bool straight = stretch->mid_motion.curvature == 0;
  std::vector<Node> narrowed = Narrowed(nodes, stretch->mid_margin);
  Tube estimates = Smooth(narrowed, stretch->mid_motion, true);
  if (estimates.empty()) estimates = Smooth(nodes, stretch->motion, true);
  if (estimates.empty()) {
    for (Node& node : nodes) node.rejected = false;
    estimates = Smooth(nodes, stretch->motion, true);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    SetMid(Estimate(estimates.Before(i), straight), &fitted.knots[knot_of[i]]);
    if (nodes[i].kick == 0) continue;
    SetMid(Estimate(estimates.After(i), straight), &fitted.knots[knot_of[i] + 1]);
  }
  fitted.front.mid = Estimate(estimates.Before(0), straight);
  fitted.back.mid = Estimate(estimates.After(nodes.size() - 1), straight);
  Tighten(nodes, knot_of, stretch->motion.curvature, &fitted.knots);
  return fitted;
}

}  // namespace

TightestBars::TightestBars(const Draft& draft)
    : smooth_front_(draft.smooth_front), smooth_back_(draft.smooth_back) {
  for (const Stretch& stretch : draft.stretches) {
    Cells& cells = stretches_.emplace_back();
    for (const Node& node : stretch.nodes) cells.positions_ns.push_back(node.position_ns);
    cells.lower.resize(stretch.nodes.size() + 1), cells.upper.resize(stretch.nodes.size() + 1);
  }
}

size_t TightestBars::Cells::At(double position_ns) const {
  const std::vector<double>& nodes = positions_ns;
  if ((last > 0 && !(nodes[last - 1] <= position_ns)) ||
      (last < nodes.size() && !(position_ns < nodes[last]))) {
    last = static_cast<size_t>(std::upper_bound(nodes.begin(), nodes.end(), position_ns) -
                               nodes.begin());
  }
  return last;
}

Range TightestBars::RoomsAt(double position_ns) const {
  if (stretches_.size() != 1) return {kInfinity, kInfinity};
  const Cells& cells = stretches_[0];
  const size_t cell = cells.At(position_ns);
  return {cells.lower[cell].room, cells.upper[cell].room};
}

void TightestBars::Add(const Bar& bar, const Bounds& at) {
  any_ = true;
  for (Cells& cells : stretches_) {
    const std::vector<double>& nodes = cells.positions_ns;
    // Beyond its brackets, a stretch only continues where the clock did not break.
    const bool first = smooth_front_ && &cells == &stretches_.front();
    const bool last = smooth_back_ && &cells == &stretches_.back();
    if ((!first && bar.position_ns < nodes.front()) || (!last && bar.position_ns > nodes.back())) {
      continue;
    }
    const size_t cell = cells.At(bar.position_ns);
    const bool is_lower = bar.gate.lo > -kInfinity;
    const double room = is_lower ? at.mid - bar.gate.lo : bar.gate.hi - at.mid;
    Tightest& tightest = is_lower ? cells.lower[cell] : cells.upper[cell];
    if (room < tightest.room) tightest = {bar, room};
  }
}

void TightestBars::AddTo(Draft* draft) const {
  for (size_t s = 0; s < stretches_.size(); ++s) {
    std::vector<Node>& nodes = draft->stretches[s].nodes;
    const Cells& cells = stretches_[s];
    std::vector<Node> merged;
    merged.reserve(3 * nodes.size() + 2);
    for (size_t cell = 0; cell <= nodes.size(); ++cell) {
      const Tightest* pair[] = {&cells.lower[cell], &cells.upper[cell]};
      const auto is_there = [](const Tightest* of) { return of->room < kInfinity; };
      if (is_there(pair[0]) && is_there(pair[1]) &&
          pair[1]->bar.position_ns < pair[0]->bar.position_ns) {
        std::swap(pair[0], pair[1]);
      }
      for (const Tightest* one : pair) {
        if (!is_there(one)) continue;
        Node node;
        node.kind = Node::Kind::kConstraint;
        node.position_ns = one->bar.position_ns;
        node.gate = one->bar.gate;
        node.bend = std::max(cell > 0 ? nodes[cell - 1].bend : 1,
                             cell < nodes.size() ? nodes[cell].bend : 1);
        merged.push_back(node);
      }
      if (cell < nodes.size()) merged.push_back(nodes[cell]);
    }
    nodes = std::move(merged);
  }
}

Curve FitCurve(Draft* draft, uint64_t* rejected) {
  Curve curve;
  curve.count = draft->count;
  curve.base_ticks = draft->base_ticks;
  curve.base_host_ns = draft->base_host_ns;
  curve.curvature = draft->stretches.front().motion.curvature;
  for (Stretch& stretch : draft->stretches) {
    Fitted fitted = FitStretch(&stretch, rejected);
    if (curve.knots.empty()) curve.front = fitted.front;
    curve.back = fitted.back;
    for (const size_t cut : fitted.cuts) curve.cuts.push_back(curve.knots.size() + cut);
    curve.knots.insert(curve.knots.end(), fitted.knots.begin(), fitted.knots.end());
  }
  curve.step_front = draft->step_front;
  curve.front.smooth = draft->smooth_front;
  curve.back.smooth = draft->smooth_back;
  return curve;
}

}  // namespace acceltrace::clock::internal
