// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/estimator.h"

#include <algorithm>
#include <cmath>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/map_data.h"
#include "libtrace/stream/columns.h"

namespace acceltrace::clock {

namespace {

using internal::Count;
using internal::Curve;
using internal::Knot;
using internal::MapData;
using internal::Reading;
using internal::TickLine;

// Bounds at one reading: the counter showed t from t on until t + 1 began.
Knot KnotOf(const TickLine& line, const Count& count, const Reading& reading) {
  const auto host = [&](int64_t ns) {
    return static_cast<double>(ns - count.base_host_ns) - reading.position_ns;
  };
  Knot knot;
  knot.position_ns = reading.position_ns;
  knot.lo_ns = host(reading.sample.host_before_ns) - line.ns_per_tick();
  knot.hi_ns = host(reading.sample.host_after_ns);
  knot.mid_ns = 0.5 * (knot.lo_ns + knot.hi_ns);
  return knot;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Drops brackets much wider than usual (the reader was preempted inside): true,
// but useless beside their neighbours.
std::vector<Knot> UsefulKnots(const TickLine& line, const Count& count, uint64_t* rejected) {
  std::vector<Knot> knots;
  std::vector<double> widths;
  for (const Reading& reading : count.readings) {
    knots.push_back(KnotOf(line, count, reading));
    widths.push_back(knots.back().hi_ns - knots.back().lo_ns);
  }
  const double limit_ns = 4 * Median(widths);
  std::vector<Knot> useful;
  for (const Knot& knot : knots) {
    const bool same_place = !useful.empty() && useful.back().position_ns == knot.position_ns;
    if (knot.hi_ns - knot.lo_ns <= limit_ns && !same_place) {
      useful.push_back(knot);
    } else {
      ++*rejected;
    }
  }
  return useful;
}

void SetEndSlopes(Curve* curve, double curvature) {
  const auto& knots = curve->knots;
  const auto slopes = [&](const Knot& a, const Knot& b, double* lo, double* hi) {
    const double distance = b.position_ns - a.position_ns;
    const double bend = 0.5 * curvature * distance;
    *lo = (b.lo_ns - a.hi_ns) / distance - bend;
    *hi = (b.hi_ns - a.lo_ns) / distance + bend;
  };
  if (knots.size() < 2) {
    // Nothing is known of the rate but that clocks are within 1000 ppm.
    curve->first_slope_lo = curve->last_slope_lo = -1e-3;
    curve->first_slope_hi = curve->last_slope_hi = 1e-3;
    return;
  }
  // The pair whose slope is known best: far apart against its width, near enough
  // against the drift.
  const double reach_ns = std::sqrt(4 * (knots[0].hi_ns - knots[0].lo_ns) / curvature);
  size_t i = 1;
  while (i + 1 < knots.size() && knots[i].position_ns - knots[0].position_ns < reach_ns) ++i;
  slopes(knots[0], knots[i], &curve->first_slope_lo, &curve->first_slope_hi);
  size_t j = knots.size() - 2;
  while (j > 0 && knots.back().position_ns - knots[j].position_ns < reach_ns) --j;
  slopes(knots[j], knots.back(), &curve->last_slope_lo, &curve->last_slope_hi);
}

}  // namespace

MapBuilder::MapBuilder(const ClockInfo& info, const Options& options)
    : info_(info), options_(options) {}

void MapBuilder::Add(const proto::ClockBatch& batch) {
  const size_t rows = batch.host_before_ns_delta_size();
  stream::DeltaDecoder before(batch.host_before_ns_delta());
  stream::DeltaDecoder ticks(batch.device_ticks_delta());
  stream::DeltaDecoder tsc(batch.tsc_before_delta());
  stream::DeltaDecoder ptm_ticks(batch.ptm_device_ticks_delta());
  stream::DeltaDecoder ptm_host(batch.ptm_host_ns_delta());
  for (size_t i = 0; i < rows; ++i) {
    Sample sample;
    sample.host_before_ns = before.Next();
    sample.host_after_ns = static_cast<int64_t>(static_cast<uint64_t>(sample.host_before_ns) +
                                                stream::ColumnAt(batch.host_width_ns(), i));
    sample.device_ticks = ticks.NextUnsigned();
    sample.tsc_before = tsc.NextUnsigned();
    sample.tsc_after = sample.tsc_before + stream::ColumnAt(batch.tsc_width(), i);
    sample.has_ptm = stream::ColumnAt(batch.has_ptm(), i) != 0;
    sample.ptm_device_ticks = ptm_ticks.NextUnsigned();
    sample.ptm_host_ns = ptm_host.Next();
    samples_.push_back(sample);
  }
}

void MapBuilder::AddCut(uint64_t ticks, Cut cut, int64_t near_ns) {
  cuts_.push_back({ticks, cut, near_ns});
}

void MapBuilder::AddConstraints(std::span<const Constraint> constraints) {
  constraints_.insert(constraints_.end(), constraints.begin(), constraints.end());
}

Result<Map> MapBuilder::Build() const {
  if (!(info_.nominal_hz > 0) || info_.bits == 0 || info_.bits > 64) {
    return Status::Error("the device tells no usable clock frequency or width");
  }
  auto data = std::make_shared<MapData>();
  data->line = TickLine(info_);
  data->curvature = options_.max_drift_ppm_per_s * 1e-6 / 1e9;
  Quality& quality = data->quality;
  quality.samples = samples_.size();
  quality.constraints = constraints_.size();
  quality.drift_ppm_per_s = options_.max_drift_ppm_per_s;

  const std::vector<Count> counts =
      internal::SplitCounts(data->line, samples_, &quality.samples_rejected);
  std::vector<double> widths;
  for (const Count& count : counts) {
    Curve curve;
    curve.base_ticks = count.base_ticks;
    curve.base_host_ns = count.base_host_ns;
    curve.knots = UsefulKnots(data->line, count, &quality.samples_rejected);
    if (curve.knots.empty()) continue;
    SetEndSlopes(&curve, data->curvature);
    for (const Knot& knot : curve.knots) widths.push_back(knot.hi_ns - knot.lo_ns);
    data->curves.push_back(std::move(curve));
  }
  quality.samples_used = widths.size();
  if (quality.samples_used < 2) {
    return Status::Error("only " + std::to_string(quality.samples_used) +
                         " usable clock samples, two are needed: record for longer, or look for "
                         "errors of the driver's clock sampling");
  }

  quality.pieces = static_cast<uint32_t>(data->curves.size());
  quality.resets = quality.pieces - 1;
  quality.first_ns = data->curves.front().first_host_ns();
  quality.last_ns = data->curves.back().last_host_ns();
  quality.round_trip_min_ns = static_cast<int64_t>(*std::min_element(widths.begin(), widths.end()));
  quality.round_trip_median_ns = static_cast<int64_t>(Median(widths));
  quality.width_median_ns = quality.round_trip_median_ns;
  quality.width_max_ns = static_cast<int64_t>(*std::max_element(widths.begin(), widths.end()));
  const Curve& last = data->curves.back();
  quality.offset_ns = last.knots.back().mid_ns;
  quality.rate_ppm = -1e6 * 0.5 * (last.last_slope_lo + last.last_slope_hi);
  quality.rate_min_ppm = quality.rate_max_ppm = quality.rate_ppm;
  return Map(std::move(data));
}

}  // namespace acceltrace::clock
