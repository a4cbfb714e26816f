// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json/clock_json.h"

#include <cmath>

namespace acceltrace::view {

nlohmann::ordered_json FitJson(const clock::Quality& fit) {
  // Six decimals suffice for any rate or residual.
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  return {{"samples", fit.samples},
          {"samples_used", fit.samples_used},
          {"samples_rejected", fit.samples_rejected},
          {"samples_wrong", fit.samples_wrong},
          {"ptm_samples", fit.ptm_samples},
          {"constraints", fit.constraints},
          {"constraints_rejected", fit.constraints_rejected},
          {"pieces", fit.pieces},
          {"resets", fit.resets},
          {"steps", fit.steps},
          {"offset_ns", std::round(fit.offset_ns)},
          {"rate_ppm", rounded(fit.rate_ppm)},
          {"rate_min_ppm", rounded(fit.rate_min_ppm)},
          {"rate_max_ppm", rounded(fit.rate_max_ppm)},
          {"drift_ppm_per_s", rounded(fit.drift_ppm_per_s)},
          {"round_trip_min_ns", fit.round_trip_min_ns},
          {"round_trip_median_ns", fit.round_trip_median_ns},
          {"residual_p50_ns", rounded(fit.residual_p50_ns)},
          {"residual_p99_ns", rounded(fit.residual_p99_ns)},
          {"residual_max_ns", rounded(fit.residual_max_ns)}};
}

}  // namespace acceltrace::view
