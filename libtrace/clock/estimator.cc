// SPDX-License-Identifier: Apache-2.0
//
// From samples, cuts and constraints to a map. The steps: counts (counts.cc),
// smooth stretches (drafts.cc), tubes (tube.cc), curves (fit.cc), quality.
#include "libtrace/clock/estimator.h"

#include <algorithm>
#include <cmath>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/fit.h"
#include "libtrace/clock/map_data.h"
#include "libtrace/clock/quality.h"

namespace acceltrace::clock {

namespace {

using internal::Bar;
using internal::Count;
using internal::Curve;
using internal::CutMark;
using internal::Draft;
using internal::kInfinity;
using internal::MapData;
using internal::Place;
using internal::TickLine;

// The device tells how large a change was, and is believed from none to twice that.
constexpr double kKickSlack = 1;
// A frequency told in mHz may round away a small part of the change: 1 ppb.
constexpr double kKickRoundingNsPerS = 1;
// A clock without neighbours is not limited by them.
constexpr int64_t kNoLimit = 4'000'000'000'000'000'000;

// The curves around each one limit where it can lead to.
void SetLimits(std::vector<Curve>* curves) {
  const auto host = [](const Curve& curve, double position_ns, double offset) {
    return curve.base_host_ns + internal::ToNs(position_ns + offset);
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
  }
}

// Constraints as gates, by curve. What contradicts the samples is counted and left out.
std::vector<std::vector<Bar>> SortBars(const MapData& data,
                                       const std::vector<Constraint>& constraints,
                                       uint64_t* rejected) {
  std::vector<std::vector<Bar>> bars(data.curves.size());
  const double tick_ns = data.line.ns_per_tick();
  size_t cursor = 0;
  for (const Constraint& constraint : constraints) {
    const Place place = data.Locate(constraint.ticks, constraint.host_ns);
    const Curve& curve = data.curves[place.curve];
    const internal::Bounds bounds = OffsetAt(curve, place.position_ns, &cursor);
    const double offset =
        static_cast<double>(constraint.host_ns - curve.base_host_ns) - place.position_ns;
    Bar bar;
    bar.position_ns = place.position_ns;
    if (constraint.order == Constraint::Order::kHostFirst) {
      bar.gate.lo = offset - tick_ns;
      if (bar.gate.lo > bounds.hi) {
        ++*rejected;
        continue;
      }
    } else {
      bar.gate.hi = offset + 1;
      if (bar.gate.hi < bounds.lo) {
        ++*rejected;
        continue;
      }
    }
    bars[place.curve].push_back(bar);
  }
  return bars;
}

// On the count where it lies nearest to a sample: the ticks that a reset or a jump led
// to belong to the count after it, whatever the time of the record.
template <typename CutAt>
std::vector<std::vector<CutMark>> PlaceCuts(const TickLine& line, const std::vector<Count>& counts,
                                            const std::vector<CutAt>& cuts, double nominal_hz) {
  std::vector<std::vector<CutMark>> marks(counts.size());
  double told_hz = 0;
  for (const CutAt& cut : cuts) {
    CutMark mark;
    size_t from = 0, to = counts.size();
    if (cut.near_ns != Map::kNoHint) {
      const auto after =
          std::upper_bound(counts.begin() + 1, counts.end(), cut.near_ns,
                           [](int64_t ns, const Count& count) { return ns < count.base_host_ns; });
      to = std::min(static_cast<size_t>(after - counts.begin()) + 1, counts.size());
    }
    from = to - std::min<size_t>(to, 3);
    size_t best = from;
    double best_outside = kInfinity;
    for (size_t c = from; c < to; ++c) {
      const Count& count = counts[c];
      const double first = count.readings.front().position_ns;
      const double last = count.readings.back().position_ns;
      const double near = cut.near_ns == Map::kNoHint
                              ? last
                              : static_cast<double>(cut.near_ns - count.base_host_ns);
      const double position = line.Position(count.base_ticks, cut.ticks, near);
      const double outside = std::max({0.0, first - position, position - last});
      if (outside < best_outside) {
        best = c, best_outside = outside, mark.position_ns = position;
      }
    }
    if (cut.cut == Cut::kFrequency && told_hz > 0 && cut.hz > 0) {
      mark.turn = 1e9 * nominal_hz * (1 / cut.hz - 1 / told_hz);
      mark.kick = kKickSlack * std::abs(mark.turn) + kKickRoundingNsPerS;
    }
    if (cut.hz > 0) told_hz = cut.hz;
    marks[best].push_back(mark);
  }
  return marks;
}

}  // namespace

Result<Map> MapBuilder::Build() const {
  if (!(info_.nominal_hz > 0) || info_.bits == 0 || info_.bits > 64) {
    return Status::Error("the device tells no usable clock frequency or width");
  }
  auto data = std::make_shared<MapData>();
  data->line = TickLine(info_);
  Quality& quality = data->quality;
  quality.samples = samples_.size();
  quality.constraints = constraints_.size();

  const std::vector<Count> counts =
      internal::SplitCounts(data->line, samples_, &quality.samples_rejected);
  quality.samples_used = 0;
  for (const Count& count : counts) quality.samples_used += count.readings.size();
  if (quality.samples_used < 2) {
    return Status::Error("only " + std::to_string(quality.samples_used) +
                         " usable clock samples, two are needed: record for longer, or look for "
                         "errors of the driver's clock sampling");
  }

  const std::vector<std::vector<CutMark>> cuts =
      PlaceCuts(data->line, counts, cuts_, info_.nominal_hz);

  std::vector<Draft> drafts;
  uint64_t left_out = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (Draft& draft : MakeDrafts(data->line, counts[i], cuts[i], options_, &left_out)) {
      drafts.push_back(std::move(draft));
    }
  }
  quality.samples_rejected += left_out;
  quality.samples_used -= std::min(quality.samples_used, left_out);
  uint64_t contradicting = 0;
  for (Draft& draft : drafts) data->curves.push_back(FitCurve(&draft, &contradicting));
  SetLimits(&data->curves);

  if (!constraints_.empty()) {
    const auto bars = SortBars(*data, constraints_, &quality.constraints_rejected);
    for (size_t i = 0; i < drafts.size(); ++i) {
      if (bars[i].empty()) continue;
      AddBars(data->curves[i], bars[i], &drafts[i]);
      data->curves[i] = FitCurve(&drafts[i], &quality.constraints_rejected);
    }
    SetLimits(&data->curves);
  }
  for (const Sample& sample : samples_) quality.ptm_samples += sample.has_ptm;
  internal::Measure(counts, data.get());
  return Map(std::move(data));
}

}  // namespace acceltrace::clock
