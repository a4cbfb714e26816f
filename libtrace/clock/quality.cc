// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/quality.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libtrace/clock/fit.h"

namespace acceltrace::clock::internal {

namespace {

double AtFraction(std::vector<double>* values, double fraction) {
  if (values->empty()) return 0;
  const auto index = static_cast<size_t>(fraction * static_cast<double>(values->size() - 1));
  const auto at = values->begin() + static_cast<ptrdiff_t>(index);
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

// Converts the slope of host time over nominal time to the frequency's deviation from nominal.
double Ppm(double slope) { return (1 / (1 + slope * 1e-9) - 1) * 1e6; }

// Measures the rates between changes of frequency.
void MeasureRates(const Curve& curve, Quality* quality) {
  size_t from = 0;
  auto cut = curve.cuts.begin();
  for (size_t i = 0; i < curve.knots.size(); ++i) {
    const bool at_end = i + 1 == curve.knots.size();
    const bool at_cut = cut != curve.cuts.end() && *cut == i;
    if (!at_end && !at_cut) continue;
    if (at_cut) ++cut;
    const Knot& a = curve.knots[from];
    const Knot& b = curve.knots[i];
    from = i + 1;
    const double seconds = (b.position_ns - a.position_ns) * 1e-9;
    if (seconds <= 0) continue;
    const double ppm = Ppm((b.mid - a.mid) / seconds);
    if (quality->pieces++ == 0) quality->rate_min_ppm = quality->rate_max_ppm = ppm;
    quality->rate_min_ppm = std::min(quality->rate_min_ppm, ppm);
    quality->rate_max_ppm = std::max(quality->rate_max_ppm, ppm);
    quality->rate_ppm = ppm;
  }
}

}  // namespace

void Measure(std::span<const Count> counts, MapData* data) {
  Quality& quality = data->quality;
  quality.resets = static_cast<uint32_t>(counts.size() - 1);
  for (const Curve& curve : data->curves) {
    MeasureRates(curve, &quality);
    quality.drift_ppm_per_s = std::max(quality.drift_ppm_per_s, curve.curvature * 1e-3);
  }
  quality.steps = quality.pieces > data->curves.size()
                      ? quality.pieces - static_cast<uint32_t>(data->curves.size())
                      : 0;
  for (const Curve& curve : data->curves) quality.steps += curve.step_front;
  quality.first_ns = data->curves.front().first_host_ns();
  quality.last_ns = data->curves.back().last_host_ns();
  const Curve& last = data->curves.back();
  quality.offset_ns = static_cast<double>(last.base_host_ns) + last.knots.back().mid -
                      static_cast<double>(last.base_ticks) * data->line.ns_per_tick();

  std::vector<double> trips, residuals, widths;
  size_t at = 0;
  for (size_t c = 0; c < counts.size(); ++c) {
    for (const Reading& reading : counts[c].readings) {
      // Find the curve that the sample is on, or the last one before it.
      while (at + 1 < data->curves.size() &&
             (data->curves[at].count < c ||
              (data->curves[at].count == c && data->curves[at + 1].count == c &&
               data->curves[at + 1].knots.front().position_ns <= reading.position_ns))) {
        ++at;
      }
      const Curve& curve = data->curves[at];
      if (curve.count != c) continue;
      const Bounds bounds = OffsetAt(curve, reading.position_ns);
      const double before =
          static_cast<double>(reading.sample.host_before_ns - curve.base_host_ns) -
          reading.position_ns;
      const double after = static_cast<double>(reading.sample.host_after_ns - curve.base_host_ns) -
                           reading.position_ns;
      trips.push_back(after - before);
      residuals.push_back(std::abs(0.5 * (before + after) - bounds.mid));
      widths.push_back(bounds.hi - bounds.lo + data->line.ns_per_tick());
    }
  }
  quality.round_trip_min_ns = ToNs(AtFraction(&trips, 0));
  quality.round_trip_median_ns = ToNs(AtFraction(&trips, 0.5));
  quality.residual_p50_ns = AtFraction(&residuals, 0.5);
  quality.residual_p99_ns = AtFraction(&residuals, 0.99);
  quality.residual_max_ns = AtFraction(&residuals, 1);
  quality.width_median_ns = ToNs(std::ceil(AtFraction(&widths, 0.5)));
  quality.width_max_ns = ToNs(std::ceil(AtFraction(&widths, 1)));
}

}  // namespace acceltrace::clock::internal
