// SPDX-License-Identifier: Apache-2.0
//
// Converts samples to smooth stretches: gates, cross-timestamps, the estimate.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "libtrace/clock/fit.h"
#include "libtrace/clock/pieces.h"

namespace acceltrace::clock::internal {

namespace {

// Covers the rounding of doubles after a day, and of corners that were simplified.
constexpr double kRoundingNs = 0.05;
// The largest rate that a clock is assumed to have between a sample and its cross-timestamp.
constexpr double kMaxRatio = 4;
// Nodes are close enough if the curve departs from the chord between them by at most 1 ns.
constexpr double kChordNs = 1;
// The number of fillers in a stretch is limited to this, or to a multiple of its samples. It
// suffices for two minutes without samples. With fewer fillers the chord is less accurate, but the
// bounds stay correct.
constexpr size_t kMinFillers = 2'000;
constexpr size_t kFillersPerNode = 100;
// A stretch between breaks needs this many brackets to be believed: two define a line, the third
// tests it, and the fourth shows that the third was no accident.
constexpr size_t kMinWitnesses = 4;
// Brackets up to this much wider than usual can contradict others. Round trips scatter within this
// factor; wider ones are due to preemption.
constexpr double kWitnessWidths = 2;

// A curve passes with ease if it has this margin on either side, relative to the narrowest bracket.
constexpr double kEase = 0.25;
// Number of halvings of the margin, which determine it to a thousandth of the narrowest bracket.
constexpr int kMarginSteps = 10;
// Corridors nearly as wide as the widest one are nearly as likely, and the mean of all curves that
// pass them does not depend on the two or three brackets that limit the widest one. With a much
// smaller factor, likely curves would be outweighed by merely possible ones.
constexpr double kNearlyWidest = 0.98;
// The bends that are tried in this order, relative to what the assumed drift allows.
constexpr double kBends[] = {0.0, 1.0 / 256, 1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0 / 2, 1.0};
// Pairs whose error exceeds this part of the narrowest bracket are of little use.
constexpr double kUsefulPair = 0.25;
// A pair that is further off than twice this, relative to the narrowest bracket, is an outlier.
constexpr double kFarOff = 0.25;
// The number of successive pairs with the same error that must still be noticed. Delays that last
// for several samples are of a kind that does not come between the two readings of a pair.
constexpr double kRun = 4;
// Number of halvings after which the spread of pairs is known to a thousandth.
constexpr int kSpreadSteps = 8;
// If more than one pair in this many is an outlier, the others are not trusted either.
constexpr uint64_t kFewPairs = 10;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Node Bracket(double position_ns, Range gate) {
  Node node;
  node.kind = Node::Kind::kBracket;
  node.position_ns = position_ns;
  node.gate = gate;
  return node;
}

// Considers all readings with a cross-timestamp, so that all pairs get the same width.
double LongestTick(const Count& count) {
  double longest = 0;
  for (const Reading& reading : count.readings) {
    if (reading.sample.has_ptm) longest = std::max(longest, reading.tick_ns);
  }
  return longest;
}

// Converts a cross-timestamp to a bracket that is as wide as its rounding errors.
bool PtmNode(const TickLine& line, const Count& count, const Reading& reading, double tick_ns,
             double error_ns, Node* node) {
  const Sample& sample = reading.sample;
  const auto apart = std::abs(static_cast<double>(std::max(
      sample.ptm_host_ns - sample.host_before_ns, sample.host_after_ns - sample.ptm_host_ns)));
  const double reach = kMaxRatio * apart + 2 * line.ns_per_tick();
  if (line.wraps() && reach > 0.5 * line.wrap_ns()) return false;
  // If a jump was between the two readings, it is not known on which side of it the pair is.
  for (const Era& era : count.eras) {
    const double jump = static_cast<double>(era.from) * line.ns_per_tick();
    if (std::abs(jump - reading.position_ns) <= reach) return false;
  }
  const double position =
      reading.position_ns + line.Distance(sample.device_ticks, sample.ptm_device_ticks);
  const double offset = static_cast<double>(sample.ptm_host_ns - count.base_host_ns) - position;
  *node = Bracket(position, {offset - tick_ns - error_ns, offset + 1 + error_ns});
  // The pair must agree with its own bracket at some possible rate.
  const Range bracket = GateOf(count, reading);
  const double drift = (kMaxRatio - 1) * std::abs(position - reading.position_ns);
  return node->gate.hi >= bracket.lo - drift && node->gate.lo <= bracket.hi + drift;
}

// Makes nodes of brackets, cross-timestamps and cuts. Cross-timestamps have the error ptm_error_ns
// (if negative, none are used) and are omitted at the sorted positions left_out.
std::vector<Node> NodesOf(const TickLine& line, const Count& count, std::span<const CutMark> cuts,
                          const Range& slopes, double ptm_error_ns,
                          std::span<const double> left_out, uint64_t* rejected) {
  std::vector<Node> nodes;
  const double tick_ns = LongestTick(count);
  for (const Reading& reading : count.readings) {
    nodes.push_back(Bracket(reading.position_ns, GateOf(count, reading)));
    nodes.back().wraps_guessed = reading.wraps_guessed;
    nodes.back().bend = BendOf(reading.tick_ns / line.ns_per_tick());
    if (!reading.sample.has_ptm || ptm_error_ns < 0) continue;
    Node node;
    if (PtmNode(line, count, reading, tick_ns, ptm_error_ns, &node) &&
        !std::binary_search(left_out.begin(), left_out.end(), node.position_ns)) {
      node.ptm = true;
      node.bend = nodes.back().bend;
      nodes.push_back(node);
    } else {
      ++*rejected;
    }
  }
  for (const CutMark& cut : cuts) {
    Node node;
    node.kind = Node::Kind::kCut;
    node.position_ns = cut.position_ns;
    node.turn = cut.turn;
    node.kick = cut.kick;
    node.bend = BendOf(cut.ratio > 0 ? 1 / cut.ratio : 1 + slopes.hi * 1e-9);
    const double tick_s = line.ns_per_tick() * 1e-9;
    node.blur_ns = std::isinf(cut.kick) ? tick_s * (slopes.hi - slopes.lo)
                                        : tick_s * (std::abs(cut.turn) + cut.kick);
    nodes.push_back(node);
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.position_ns < b.position_ns; });
  std::vector<double> widths;
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kBracket) widths.push_back(node.gate.hi - node.gate.lo);
  }
  const double limit = kWitnessWidths * Median(widths);
  const Node* bracket = nullptr;
  for (Node& node : nodes) {
    node.witness = node.gate.hi - node.gate.lo <= limit;
    // A pair directly follows its own bracket.
    node.repeated = node.ptm && bracket != nullptr && bracket->witness;
    if (!node.ptm) bracket = &node;
  }
  return nodes;
}

// Returns the usual distance between pairs, weighted by time: gaps up to this long make up half of
// the time.
double UsualGapNs(std::span<const Node> nodes) {
  std::vector<double> gaps;
  double last = kInfinity, sum = 0;
  for (const Node& node : nodes) {
    if (!node.ptm || node.rejected) continue;
    if (last < node.position_ns) gaps.push_back(node.position_ns - last);
    last = node.position_ns;
  }
  std::sort(gaps.begin(), gaps.end());
  const double total = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  for (double gap : gaps) {
    if ((sum += gap) >= 0.5 * total) return gap;
  }
  return 0;
}

// Returns half the spread of pairs around the best curve that bends by at most `curvature` if it is
// below `limit`, otherwise infinity. `nodes` are pairs with an assumed error of `believed_ns`.
double HalfSpread(std::span<const Node> nodes, const Motion& motion, double believed_ns,
                  double limit) {
  std::vector<Node> pairs;
  for (const Node& node : nodes) {
    if (node.kind != Node::Kind::kBracket || (node.ptm && !node.rejected)) pairs.push_back(node);
  }
  const auto passes = [&](double half_width) {
    return IsFeasible(Narrowed(pairs, believed_ns - half_width), motion);
  };
  if (!passes(limit)) return kInfinity;
  double too_narrow = 0, enough = limit;
  for (int i = 0; i < kSpreadSteps; ++i) {
    const double trial = 0.5 * (too_narrow + enough);
    (passes(trial) ? enough : too_narrow) = trial;
  }
  return enough;
}

// Returns the error of cross-timestamps. As it cannot be measured, it is derived from how much they
// disagree: if some of them err in either direction or not at all, none errs by more than their
// spread around a curve that follows the clock. Among the curves that the assumed drift allows,
// this is the one with the smallest sum of the spread and of the error that its bend can hide: a
// pair between two others at the usual distance can be off by curvature * gap^2 / 2 and still be on
// the curve. Pairs that contradict the others even within `limit` are not used, and *left_out gets
// their positions. Returns a negative number if they agree with nothing.
double PtmError(const TickLine& line, const Count& count, std::span<const CutMark> cuts,
                const Options& options, const Motion& motion, size_t pieces,
                std::vector<double>* left_out) {
  const auto has_ptm = [](const Reading& reading) { return reading.sample.has_ptm; };
  const auto pairs = std::count_if(count.readings.begin(), count.readings.end(), has_ptm);
  if (pairs == 0) return -1;
  double narrowest = kInfinity;
  for (const Reading& reading : count.readings) {
    const Range gate = GateOf(count, reading);
    narrowest = std::min(narrowest, gate.hi - gate.lo);
  }
  // Pairs that are hardly better than the brackets add nothing.
  const double limit = kUsefulPair * narrowest;
  const double rounding = 0.5 * (LongestTick(count) + 1);
  const double believed = kFarOff * limit - rounding;
  uint64_t rejected = 0;
  std::vector<Node> nodes = NodesOf(line, count, cuts, motion.slopes, believed, {}, &rejected);
  const std::vector<Piece> found = Segment(nodes, motion);
  for (const Node& node : nodes) {
    if (!node.ptm || !node.rejected) continue;
    left_out->push_back(node.position_ns);
    ++rejected;
  }
  if (found.size() > pieces || rejected * kFewPairs > static_cast<uint64_t>(pairs)) return -1;

  double error = options.ptm_error_ns;
  for (const Piece& piece : found) {
    const std::span<const Node> span(nodes.data() + piece.first, piece.last - piece.first + 1);
    const double gap_s = UsualGapNs(span) * 1e-9;
    double bend = 1;
    for (const Node& node : span) bend = std::max(bend, node.bend);
    double least = kInfinity;
    for (double factor : kBends) {
      Motion trial = motion;
      trial.curvature *= factor;
      trial.doubt = factor;
      const double run_s = 0.5 * (kRun + 1) * gap_s;
      const double hidden = 0.5 * trial.curvature * bend * run_s * run_s;
      if (hidden >= least) break;
      least = std::min(least, 2 * HalfSpread(span, trial, kFarOff * limit, 0.5 * limit) + hidden);
    }
    error = std::max(error, least - rounding);
  }
  return error + rounding <= limit ? error : -1;
}

// Splits long gaps, so that the chord between nodes is close to the curve.
std::vector<Node> WithFillers(std::span<const Node> nodes, double curvature) {
  std::vector<Node> filled;
  const double span_ns = nodes.back().position_ns - nodes.front().position_ns;
  double step_ns = curvature > 0 ? std::sqrt(8 * kChordNs / curvature) * 1e9 : span_ns;
  const size_t limit = std::max(kMinFillers, kFillersPerNode * nodes.size());
  step_ns = std::max(step_ns, span_ns / static_cast<double>(limit));
  // Limits the number also where the clock ran many times faster than it should.
  double steps = 0;
  for (size_t i = 1; i < nodes.size() && step_ns > 0; ++i) {
    steps += (nodes[i].position_ns - nodes[i - 1].position_ns) / step_ns *
             std::sqrt(BendBetween(nodes[i - 1], nodes[i]));
  }
  step_ns *= std::max(1.0, steps / static_cast<double>(2 * limit));
  for (const Node& node : nodes) {
    if (!filled.empty() && step_ns > 0) {
      const double from = filled.back().position_ns;
      const double bend = BendBetween(filled.back(), node);
      const auto parts = static_cast<size_t>((node.position_ns - from) / step_ns * std::sqrt(bend));
      for (size_t i = 1; i <= parts; ++i) {
        Node filler;
        filler.position_ns = from + (node.position_ns - from) * static_cast<double>(i) /
                                        static_cast<double>(parts + 1);
        filler.bend = bend;
        filled.push_back(filler);
      }
    }
    filled.push_back(node);
  }
  return filled;
}

// Chooses the estimate's bend and its distance from the edges of the gates: the straightest curve
// that passes with ease and, among those, the one with the widest margin. If samples had to be
// squeezed onto a curve that they are not on, the margin would be far below half the narrowest
// bracket.
void ChooseEstimate(std::span<const Node> nodes, const Motion& bounds, Stretch* stretch) {
  double narrowest = kInfinity;
  std::vector<Node> brackets;
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kConstraint || node.rejected) continue;
    brackets.push_back(node);
    if (node.kind == Node::Kind::kBracket) {
      narrowest = std::min(narrowest, node.gate.hi - node.gate.lo);
    }
  }
  const auto passes = [&](const Motion& motion, double margin) {
    return IsFeasible(Narrowed(brackets, margin), motion);
  };
  Motion motion = bounds;
  for (double factor : kBends) {
    Motion trial = bounds;
    trial.curvature = factor * bounds.curvature;
    trial.doubt = factor;
    if (passes(trial, kEase * narrowest)) {
      motion = trial;
      break;
    }
  }
  double margin = 0, too_wide = 0.5 * narrowest;
  for (int i = 0; i < kMarginSteps; ++i) {
    const double trial = 0.5 * (margin + too_wide);
    (passes(motion, trial) ? margin : too_wide) = trial;
  }
  stretch->mid_motion = motion;
  stretch->mid_margin = kNearlyWidest * margin;
}

// Returns the indexes of the first and the last bracket, or 0 if there is none.
std::pair<size_t, size_t> EndsOf(std::span<const Node> nodes) {
  size_t first = nodes.size(), last = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!IsBracket(nodes[i])) continue;
    first = std::min(first, i);
    last = i;
  }
  return {first == nodes.size() ? 0 : first, last};
}

Stretch MakeStretch(std::span<const Node> nodes, const Motion& motion) {
  Stretch stretch;
  stretch.motion = motion;
  ChooseEstimate(nodes, motion, &stretch);
  stretch.nodes = WithFillers(nodes, motion.curvature);
  return stretch;
}

}  // namespace

// The counter showed t from t until t + 1; host times are rounded outwards.
Range GateOf(const Count& count, const Reading& reading) {
  const auto offset = [&](int64_t ns) {
    return static_cast<double>(ns - count.base_host_ns) - reading.position_ns;
  };
  return {offset(reading.sample.host_before_ns) - reading.tick_ns - kRoundingNs,
          offset(reading.sample.host_after_ns) + kRoundingNs};
}

std::vector<Draft> MakeDrafts(const TickLine& line, const Count& count, const Cuts& announced,
                              const Rates& rates, const Options& options, uint64_t* rejected,
                              uint64_t* wrong) {
  const std::span<const CutMark> cuts = announced.marks;
  Motion motion;
  motion.curvature = options.max_drift_ppm_per_s * 1e3;
  motion.slopes = {(1 / rates.hi - 1) * 1e9, (1 / rates.lo - 1) * 1e9};
  std::vector<Node> nodes = NodesOf(line, count, cuts, motion.slopes, -1, {}, rejected);
  const Motion assumed = motion;
  Motion breaks;
  std::vector<Piece> pieces = SegmentBelieving(&nodes, &motion, &breaks);
  std::vector<double> left_out;
  const double ptm_error_ns =
      PtmError(line, count, cuts, options, motion, pieces.size(), &left_out);
  if (ptm_error_ns >= 0) {
    nodes = NodesOf(line, count, cuts, motion.slopes, ptm_error_ns, left_out, rejected);
    Motion raised = assumed;
    pieces = SegmentBelieving(&nodes, &raised, &breaks);
    motion.curvature = std::max(motion.curvature, raised.curvature);
  }
  if (pieces.size() > 1 || !announced.is_first || !announced.is_last) {
    pieces = SplitUntested(nodes, std::move(pieces));
    // Pieces this short are not trusted: their brackets hold, but not the curve between them. They
    // still show that the clock broke before them, and where that may have been.
    const auto is_short = [](const Piece& piece) { return piece.witnesses < kMinWitnesses; };
    for (size_t p = 1; p < pieces.size(); ++p) {
      if (is_short(pieces[p])) LeaveOpen(nodes, breaks, &pieces[p - 1], pieces[p]);
    }
    std::erase_if(pieces, is_short);
  }
  for (Piece& piece : pieces) TrimUntested(nodes, &piece);
  if (!announced.is_last && !pieces.empty()) TrimGuessed(nodes, &pieces.back());
  for (size_t p = 1; p < pieces.size(); ++p) {
    ExtendBackwards(nodes, pieces[p - 1].last + 1, breaks, false, &pieces[p]);
  }
  for (const Node& node : nodes) {
    *rejected += node.rejected;
    *wrong += node.rejected && !node.ptm;
  }
  const std::vector<bool> is_step = FindSteps(nodes, breaks, !announced.unplaced, &pieces);

  std::vector<Draft> drafts;
  const auto add = [&](size_t first, size_t last, bool step) {
    const std::span<const Node> span(nodes.data() + first, last - first + 1);
    Draft& draft = drafts.emplace_back();
    draft.base_ticks = count.base_ticks;
    draft.base_host_ns = count.base_host_ns;
    draft.step_front = step;
    draft.stretches.push_back(MakeStretch(span, motion));
  };
  // Adds brackets outside of pieces as curves with a single knot each. Returns whether there were
  // any.
  const auto add_loose = [&](size_t first, size_t end) {
    const size_t before = drafts.size();
    for (size_t i = first; i < end; ++i) {
      if (!IsBracket(nodes[i])) continue;
      add(i, i, false);
      drafts.back().loose = true;
    }
    return drafts.size() > before;
  };
  const size_t last_bracket = EndsOf(nodes).second;
  size_t next = 0;
  for (const Piece& piece : pieces) {
    const bool is_first = next == 0;
    const bool step = is_step[static_cast<size_t>(&piece - pieces.data())];
    const bool loose = add_loose(next, piece.first);
    // Cuts before the first sample and after the last one belong to the pieces there.
    const bool to_end = piece.last >= last_bracket && announced.is_last;
    const bool from_start = is_first && !loose && announced.is_first;
    add(from_start ? 0 : piece.first, to_end ? nodes.size() - 1 : piece.last, step && !loose);
    next = piece.last + 1;
  }
  add_loose(next, nodes.size());
  return drafts;
}

}  // namespace acceltrace::clock::internal
