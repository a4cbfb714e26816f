// SPDX-License-Identifier: Apache-2.0
//
// Builds a map from samples, cuts and constraints. The steps are: counts (counts.cc), smooth
// stretches (drafts.cc), tubes (tube.cc), curves (fit.cc), and quality.
#include "libtrace/clock/estimator.h"

#include <algorithm>
#include <cmath>

#include "libtrace/clock/bars.h"
#include "libtrace/clock/counts.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"
#include "libtrace/clock/pieces.h"
#include "libtrace/clock/quality.h"

namespace acceltrace::clock {

namespace {

using internal::Count;
using internal::Curve;
using internal::CutMark;
using internal::Cuts;
using internal::Draft;
using internal::Jump;
using internal::kInfinity;
using internal::MapData;
using internal::MeasureTicks;
using internal::Node;
using internal::Place;
using internal::Rates;
using internal::Stretch;
using internal::TickLine;

// A change may be anything from nothing to twice the announced size.
constexpr double kKickSlack = 1;
// Frequencies announced in mHz may round off a small part of a change, at most 1 ppb.
constexpr double kKickRoundingNsPerS = 1;
// Farther (in ns) than any place on the count that a change belongs to.
constexpr double kElsewhere = 1e18;
// The limit of a clock without a neighbouring curve.
constexpr int64_t kNoLimit = 4'000'000'000'000'000'000;

// If there are more curves than this, with few samples each, the clock is unusable: its map would
// take a kilobyte for each pair of samples and have no information.
constexpr size_t kMostCurves = 4096, kFewSamples = 16;
// Announced ratios of frequencies outside of this range are ignored.
constexpr double kMinRatio = 1e-4, kMaxRatio = 1e4;
// The tolerance that is added to announced rates.
constexpr double kRatioSlack = 0.05;

// Limits where each curve can lead to by its neighbours.
void SetLimits(std::vector<Curve>* curves) {
  const auto host = [](const Curve& curve, double position_ns, double offset) {
    return internal::HostNs(curve.base_host_ns, position_ns + offset);
  };
  for (size_t i = 0; i < curves->size(); ++i) {
    Curve& curve = (*curves)[i];
    curve.front.limit_ns = -kNoLimit;
    curve.back.limit_ns = kNoLimit;
    if (i > 0) {
      const Curve& before = (*curves)[i - 1];
      curve.front.limit_ns =
          host(before, before.knots.back().position_ns, before.knots.back().lo) - 1;
    }
    if (i + 1 < curves->size()) {
      const Curve& after = (*curves)[i + 1];
      curve.back.limit_ns =
          host(after, after.knots.front().position_ns, after.knots.front().hi) + 1;
    }
    if (i == 0 || !curve.step_front || (*curves)[i - 1].count != curve.count) continue;
    Curve& before = (*curves)[i - 1];
    before.back.is_step = curve.front.is_step = true;
    before.back.other = curve.front.mid;
    before.back.other_position_ns = curve.knots.front().position_ns;
    curve.front.other = before.back.mid;
    curve.front.other_position_ns = before.knots.back().position_ns;
  }
}

// Breaks curves where enough orders contradict them. Returns false if there is no such place.
bool BreakCurves(const std::vector<internal::Wrong>& contradictions, std::vector<Draft>* drafts) {
  std::vector<std::vector<double>> wrong(drafts->size());
  for (const auto& [draft, position_ns, below, above] : contradictions) {
    wrong[draft].push_back(position_ns);
  }
  const auto enough = [](const auto& positions) {
    return positions.size() >= internal::kWrongOrders;
  };
  if (std::none_of(wrong.begin(), wrong.end(), enough)) return false;
  std::vector<Draft> broken;
  bool any = false;
  for (size_t i = 0; i < drafts->size(); ++i) {
    std::sort(wrong[i].begin(), wrong[i].end());
    bool before = false, after = false;
    Draft draft = (*drafts)[i];
    // The bars were tightest for the curve as a whole, and need not be for its parts.
    for (Stretch& stretch : draft.stretches) {
      const auto is_bar = [](const Node& node) { return node.kind == Node::Kind::kConstraint; };
      std::erase_if(stretch.nodes, is_bar);
    }
    std::vector<Draft> parts = BreakAt(std::move(draft), wrong[i], &before, &after);
    any |= before || after || parts.size() != 1;
    for (Draft& part : parts) broken.push_back(std::move(part));
  }
  if (!any || broken.empty()) return false;
  *drafts = std::move(broken);
  return true;
}

// Breaks the curves before the first bracket, after the last one, or at both ends.
void BreakEnds(bool front, bool back, std::vector<Draft>* drafts) {
  constexpr double kBeyond = 1e18;
  bool before = false, after = false;
  const auto break_at = [&](Draft* draft, double position) {
    const bool loose = draft->loose;
    const std::vector<double> wrong(internal::kWrongOrders, position);
    std::vector<Draft> parts = BreakAt(*draft, wrong, &before, &after);
    if (parts.size() != 1) return;
    *draft = std::move(parts.front());
    draft->loose = loose;
  };
  if (front) break_at(&drafts->front(), -kBeyond);
  if (back) break_at(&drafts->back(), kBeyond);
}

void FitDrafts(std::vector<Draft>* drafts, MapData* data) {
  uint64_t contradicting = 0;
  data->curves.clear();
  for (Draft& draft : *drafts) data->curves.push_back(FitCurve(&draft, &contradicting));
  SetLimits(&data->curves);
}

// Fits the curves to the orders of events as well. If too many orders contradict the samples or
// each other to be wrong themselves, the curve is broken there and fitted again.
void FitOrders(const Constraints& constraints, std::vector<Draft>* drafts, MapData* data) {
  constexpr int kMaxRounds = 4;
  for (int round = 0;; ++round) {
    std::vector<internal::Wrong> wrong;
    auto bars = SortBars(*data, *drafts, constraints, &wrong, &data->quality.constraints);
    const bool may_break = round < kMaxRounds;
    if (may_break && BreakCurves(wrong, drafts)) {
      FitDrafts(drafts, data);
      bars = SortBars(*data, *drafts, constraints, &wrong, &data->quality.constraints);
    }
    uint64_t unmet = 0;  // unused, since the search below finds them again
    for (size_t i = 0; i < drafts->size(); ++i) {
      if (!bars[i].any()) continue;
      bars[i].AddTo(&(*drafts)[i]);
      data->curves[i] = FitCurve(&(*drafts)[i], &unmet);
    }
    SetLimits(&data->curves);
    // Only the tightest orders of each place were used for the curve; the others are a test of it.
    internal::FindWrong(*data, constraints, &wrong);
    if (may_break && BreakCurves(wrong, drafts)) {
      FitDrafts(drafts, data);
      continue;
    }
    if (!wrong.empty()) {
      WidenCurves(wrong, drafts, data);
      SetLimits(&data->curves);
      internal::FindWrong(*data, constraints, &wrong);
    }
    data->quality.constraints_rejected = wrong.size();
    return;
  }
}

// Returns the first or the last bracket of a draft, or nullptr if it has none.
const Node* EndBracket(const Draft& draft, bool last) {
  const Node* end = nullptr;
  for (const Stretch& stretch : draft.stretches) {
    for (const Node& node : stretch.nodes) {
      if (!internal::IsBracket(node)) continue;
      end = &node;
      if (!last) return end;
    }
  }
  return end;
}

// Returns true if a reading may have been made after the last sample, or before the first one.
// Announced changes outside of the samples extend the curve, but are not samples.
bool MayBeOutside(const MapData& data, const Draft& draft, uint64_t ticks, const Window& when,
                  bool at_end) {
  const Node* bracket = EndBracket(draft, at_end);
  if (bracket == nullptr) return true;
  const auto host = [&](double offset) {
    return internal::HostNs(draft.base_host_ns, bracket->position_ns + offset);
  };
  if (at_end ? when.hi_ns <= host(bracket->gate.lo) : when.lo_ns >= host(bracket->gate.hi)) {
    return false;
  }
  const std::vector<Place> places = data.Places(data.line.Mask(ticks), when);
  const size_t at = at_end ? data.curves.size() - 1 : 0;
  return places.empty() || std::any_of(places.begin(), places.end(), [&](const Place& place) {
           const double ns = data.PositionNs(place.position);
           return place.curve == at &&
                  (at_end ? ns > bracket->position_ns : ns < bracket->position_ns);
         });
}

// Breaks the drafts of a count where a change of rate was announced and another one may have been
// lost between the same two samples, since no sample shows for how long its rate held. `losses`
// must be sorted.
std::vector<Draft> BreakBesideLosses(std::vector<Draft> drafts, const Count& count,
                                     const Cuts& cuts, std::span<const Window> losses) {
  std::vector<double> wrong;
  const auto& readings = count.readings;
  for (const CutMark& cut : cuts.marks) {
    const auto next = std::partition_point(
        readings.begin(), readings.end(),
        [&](const internal::Reading& reading) { return reading.position_ns <= cut.position_ns; });
    if (next == readings.begin() || next == readings.end()) continue;
    const auto loss = std::partition_point(losses.begin(), losses.end(), [&](const Window& when) {
      return when.hi_ns < std::prev(next)->sample.host_before_ns;
    });
    if (loss == losses.end() || loss->lo_ns > next->sample.host_after_ns) continue;
    wrong.insert(wrong.end(), internal::kWrongOrders, cut.position_ns);
  }
  if (wrong.empty()) return drafts;
  std::sort(wrong.begin(), wrong.end());
  std::vector<Draft> broken;
  for (Draft& draft : drafts) {
    const bool loose = draft.loose;
    bool before = false, after = false;
    for (Draft& part : BreakAt(std::move(draft), wrong, &before, &after)) {
      part.loose = loose;
      broken.push_back(std::move(part));
    }
  }
  return broken;
}

// What the device announced, in order of time.
struct Announced {
  std::vector<Jump> jumps;
  Rates rates;
};

Announced Gather(const TickLine& line, const std::vector<Change>& changes, double nominal_hz) {
  Announced notices;
  for (const Change& change : changes) {
    if (change.cut == Cut::kJump) {
      notices.jumps.push_back({line.Mask(change.before), line.Mask(change.ticks), change.when});
    }
    const double ratio = change.hz / nominal_hz;
    const bool usable = ratio >= kMinRatio && ratio <= kMaxRatio;
    notices.rates.announced.push_back({usable ? ratio : 0, change.when});
    if (!usable) continue;
    notices.rates.lo = std::min(notices.rates.lo, ratio * (1 - kRatioSlack));
    notices.rates.hi = std::max(notices.rates.hi, ratio * (1 + kRatioSlack));
  }
  return notices;
}

// Returns true if a clock ran at a rate until a position, as shown by the last readings of its
// count that are far enough apart. If there are none since a change, that is only true if the
// change was on the same count.
bool RanAt(const TickLine& line, const Count& count, double ratio, double from_ns, double to_ns) {
  // At a round trip of a microsecond, readings this far apart determine the rate ten times better
  // than needed.
  constexpr double kEnoughNs = 1e7;
  constexpr double kSlack = 2;
  const auto& readings = count.readings;
  const auto below = [](const internal::Reading& reading, double position_ns) {
    return reading.position_ns < position_ns;
  };
  const auto begin = std::lower_bound(readings.begin(), readings.end(), from_ns, below);
  const auto end = std::lower_bound(begin, readings.end(), to_ns, below);
  if (begin == end) return from_ns > -kInfinity;
  const internal::Reading& last = *std::prev(end);
  for (auto other = end - 1; other-- > begin;) {
    const double device = last.position_ns - other->position_ns;
    const auto most = static_cast<double>(last.sample.host_after_ns - other->sample.host_before_ns);
    const auto least =
        static_cast<double>(last.sample.host_before_ns - other->sample.host_after_ns);
    if (least <= 0) continue;
    const double tick = line.ns_per_tick();
    if ((device - tick) / most > ratio * (1 + kSlack * internal::kAnnouncedRate)) return false;
    if ((device + tick) / least < ratio * (1 - kSlack * internal::kAnnouncedRate)) return false;
    if (least >= kEnoughNs) break;
  }
  return true;
}

// Assigns each change of frequency to the count on which it is nearest to a sample.
std::vector<Cuts> PlaceCuts(const TickLine& line, const std::vector<Count>& counts,
                            const std::vector<Change>& changes, double nominal_hz) {
  std::vector<Cuts> cuts(counts.size());
  for (size_t c = 0; c < cuts.size(); ++c) {
    cuts[c].is_first = c == 0, cuts[c].is_last = c + 1 == cuts.size();
  }
  double last_hz = 0;
  // The count and the position of the last change.
  size_t last_on = counts.size();
  double last_at = 0;
  uint32_t jumps = 0;
  for (const Change& change : changes) {
    CutMark mark;
    size_t best = counts.size();
    double best_outside = kInfinity;
    const int64_t near_ns = internal::Guess(change.when);
    for (size_t c = 0; c < counts.size() && change.cut != Cut::kJump; ++c) {
      const Count& count = counts[c];
      const double first = count.readings.front().position_ns;
      const double last = count.readings.back().position_ns;
      for (const internal::Era& era : count.eras) {
        if (era.jumps != jumps) continue;
        const double near = near_ns == Window::kMin ? last : PositionAt(count, near_ns);
        const double position =
            line.Position(count.base_ticks, line.Mask(change.ticks + era.shift), near);
        // Prefer the count where both the samples and the guess agree best.
        const double outside = std::max({0.0, first - position, position - last}) +
                               (near_ns == Window::kMin ? 0 : 1e-3 * std::abs(position - near)) +
                               (internal::MayBe(count, position, change.when) ? 0 : kElsewhere);
        if (outside < best_outside) {
          best = c, best_outside = outside, mark.position_ns = position;
        }
      }
    }
    if (change.cut == Cut::kJump) {
      ++jumps;
    } else if (change.cut == Cut::kFrequency && last_hz > 0 && change.hz > 0 &&
               best < counts.size() &&
               RanAt(line, counts[best], last_hz / nominal_hz,
                     best == last_on ? last_at : -kInfinity, mark.position_ns)) {
      // If the clock changed without announcement since the last change, only the new rate is
      // known.
      mark.turn = 1e9 * nominal_hz * (1 / change.hz - 1 / last_hz);
      mark.kick = kKickSlack * std::abs(mark.turn) + kKickRoundingNsPerS;
    }
    const double ratio = change.hz / nominal_hz;
    if (ratio >= kMinRatio && ratio <= kMaxRatio) last_hz = change.hz, mark.ratio = ratio;
    if (best == counts.size()) continue;
    if (change.cut != Cut::kJump) last_on = best, last_at = mark.position_ns;
    if (WrapsOpen(line, change.when)) {
      Cuts& on = cuts[best];
      on.unplaced = true;
      const auto& readings = counts[best].readings;
      const Window& when = change.when;
      on.lost_front |= when.lo_ns <= readings.front().sample.host_after_ns;
      on.lost_back |= when.hi_ns >= readings.back().sample.host_before_ns;
      on.is_first &= !on.lost_front;
      on.is_last &= !on.lost_back;
    } else {
      cuts[best].marks.push_back(mark);
    }
  }
  return cuts;
}

Status CheckClock(const std::vector<Draft>& drafts, uint64_t samples) {
  if (drafts.size() <= kMostCurves || drafts.size() <= samples / kFewSamples) return {};
  return Status::Error("its samples contradict each other " + std::to_string(drafts.size() - 1) +
                       " times, every few of them: look for errors of the driver's sampling");
}

// Marks the ends between one draft and the next as broken.
void MarkEnds(const std::vector<Cuts>& cuts, std::vector<Draft>* drafts) {
  for (size_t i = 0; i < drafts->size(); ++i) {
    Draft& draft = (*drafts)[i];
    draft.smooth_front = i == 0 && !draft.loose && !cuts.front().lost_front;
    draft.smooth_back = i + 1 == drafts->size() && !draft.loose && !cuts.back().lost_back;
  }
}

}  // namespace

Result<Map> MapBuilder::Build() const {
  if (!(info_.nominal_hz > 0) || info_.bits == 0 || info_.bits > 64) {
    return Status::Error("the device reports no usable clock frequency or width");
  }
  auto data = std::make_shared<MapData>();
  data->line = TickLine(info_);
  Quality& quality = data->quality;
  quality.samples = samples_.size();

  const Announced notices = Gather(data->line, changes_, info_.nominal_hz);
  data->rates = notices.rates;
  internal::LeftOut unused;
  std::vector<Count> counts =
      internal::LineUp(data->line, samples_, notices.jumps, notices.rates, &unused);
  quality.samples_wrong = unused.wrong;
  quality.samples_rejected = unused.unplaced + unused.wrong;
  for (Count& count : counts) {
    MeasureTicks(data->line, notices.rates, &count);
    data->counts.push_back({count.eras});
  }
  quality.samples_used = 0;
  for (const Count& count : counts) quality.samples_used += count.readings.size();
  if (quality.samples_used < 2) {
    return Status::Error("only " + std::to_string(quality.samples_used) +
                         " usable clock samples, two are needed: record for longer, or look for "
                         "errors of the driver's clock sampling");
  }

  const std::vector<Cuts> cuts = PlaceCuts(data->line, counts, changes_, info_.nominal_hz);

  std::vector<Draft> drafts;
  uint64_t left_out = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<Draft> made = MakeDrafts(data->line, counts[i], cuts[i], notices.rates, options_,
                                         &left_out, &quality.samples_wrong);
    if (!losses_.empty()) {
      made = BreakBesideLosses(std::move(made), counts[i], cuts[i], losses_);
    }
    for (Draft& draft : made) {
      draft.count = i;
      drafts.push_back(std::move(draft));
    }
  }
  if (Status status = CheckClock(drafts, quality.samples_used); !status.ok()) return status;
  MarkEnds(cuts, &drafts);
  quality.samples_rejected += left_out;
  quality.samples_used -= std::min(quality.samples_used, left_out);
  uint64_t contradicting = 0;
  data->curves.reserve(drafts.size());
  for (Draft& draft : drafts) data->curves.push_back(FitCurve(&draft, &contradicting));
  if (data->curves.empty()) {
    return Status::Error("no two clock samples agree: look for errors of the driver's sampling");
  }
  SetLimits(&data->curves);
  Draft &head = drafts.front(), &tail = drafts.back();
  const auto outside = [&](const Reading& reading, bool at_end) {
    return MayBeOutside(*data, at_end ? tail : head, reading.ticks, reading.when, at_end);
  };
  const bool lost_front =
      head.smooth_front && std::any_of(lost_after_.begin(), lost_after_.end(),
                                       [&](const Reading& r) { return outside(r, false); });
  const bool lost_back =
      tail.smooth_back && std::any_of(lost_before_.begin(), lost_before_.end(),
                                      [&](const Reading& r) { return outside(r, true); });
  if (lost_front || lost_back) {
    // Other changes announced beyond the samples cannot be placed then.
    BreakEnds(lost_front, lost_back, &drafts);
    FitDrafts(&drafts, data.get());
  }

  if (!constraints_.empty()) {
    FitOrders(constraints_, &drafts, data.get());
  }
  quality.jumps = static_cast<uint32_t>(notices.jumps.size());
  for (const Sample& sample : samples_) quality.ptm_samples += sample.has_ptm;
  internal::Measure(counts, data.get());
  return Map(std::move(data));
}

}  // namespace acceltrace::clock
