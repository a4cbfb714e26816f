// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/score.h"

#include <algorithm>
#include <cmath>

namespace acceltrace::scoring {

namespace {

double AtFraction(std::vector<double>* values, double fraction) {
  if (values->empty()) return 0;
  const double rank = std::ceil(fraction * static_cast<double>(values->size())) - 1;
  const auto at = values->begin() + static_cast<ptrdiff_t>(std::max(0.0, rank));
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

}  // namespace

Spread SpreadOf(std::vector<double> errors_ns) {
  for (double& error : errors_ns) error = std::abs(error);
  return {AtFraction(&errors_ns, 0.5), AtFraction(&errors_ns, 0.99), AtFraction(&errors_ns, 1)};
}

const Score::Rival& Score::Best() const {
  return *std::min_element(rivals.begin(), rivals.end(), [](const Rival& a, const Rival& b) {
    return a.error.p99_ns < b.error.p99_ns;
  });
}

Score ScoreOf(const std::vector<TrueEvent>& events, const std::vector<Baseline>& baselines,
              const clock::Quality& quality, double truth_accuracy_ns) {
  Score score;
  score.resolution_ns = 1 + truth_accuracy_ns;
  score.events = events.size();
  score.quality = quality;
  std::vector<double> errors, widths;
  for (const TrueEvent& event : events) {
    const auto lo = static_cast<double>(event.converted.lo_ns);
    const auto hi = static_cast<double>(event.converted.hi_ns);
    const double outside = std::max(lo - event.true_ns, event.true_ns - hi) - truth_accuracy_ns;
    if (outside > 0) {
      ++score.outside;
      score.worst_outside_ns = std::max(score.worst_outside_ns, outside);
    }
    errors.push_back(static_cast<double>(event.converted.mid_ns) - event.true_ns);
    widths.push_back(hi - lo);
  }
  score.error = SpreadOf(errors);
  score.width_median_ns = AtFraction(&widths, 0.5);
  score.width_max_ns = AtFraction(&widths, 1);
  for (const Baseline& baseline : baselines) {
    for (size_t i = 0; i < events.size(); ++i) {
      // In whole ns, as all tools store times.
      errors[i] =
          std::round(baseline.convert(events[i].ticks, events[i].near_ns)) - events[i].true_ns;
    }
    score.rivals.push_back({baseline.name, SpreadOf(errors)});
  }
  return score;
}

nlohmann::json ToJson(const Score& score) {
  const clock::Quality& quality = score.quality;
  nlohmann::json rivals;
  for (const Score::Rival& rival : score.rivals) rivals[rival.name] = rival.error.p99_ns;
  return {{"events", score.events},
          {"outside", score.outside},
          {"worst_outside_ns", score.worst_outside_ns},
          {"p50_ns", score.error.p50_ns},
          {"p99_ns", score.error.p99_ns},
          {"max_ns", score.error.max_ns},
          {"width_median_ns", score.width_median_ns},
          {"width_max_ns", score.width_max_ns},
          {"round_trip_ns", quality.round_trip_min_ns},
          {"snapshot_p99_ns", score.rivals.front().error.p99_ns},
          {"best_p99_ns", score.Best().error.p99_ns},
          {"best", score.Best().name},
          {"resolution_ns", score.resolution_ns},
          {"rivals_p99_ns", rivals},
          {"ppm", quality.rate_ppm},
          {"samples", quality.samples},
          {"ptm_samples", quality.ptm_samples},
          {"samples_rejected", quality.samples_rejected},
          {"violations", quality.constraints_rejected},
          {"constraints", quality.constraints},
          {"pieces", quality.pieces}};
}

}  // namespace acceltrace::scoring
