// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/truth.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace acceltrace::scoring {

namespace {

struct Line {
  double x0 = 0, y0 = 0, slope = 1;
  double At(double x) const { return y0 + slope * (x - x0); }
};

Line LeastSquares(const std::vector<std::pair<double, double>>& points) {
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [x, y] : points) mean_x += x / n, mean_y += y / n;
  for (const auto& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
  }
  return {mean_x, mean_y, xx > 0 ? xy / xx : 1};
}

// What 99 of 100 of the pairs within a time stay within, in TSC cycles.
double Scatter(const Truth& truth, double from_tsc, double to_tsc) {
  std::vector<std::pair<double, double>> points;
  for (const auto& [ns, tsc] : truth.pairs) {
    const auto at = static_cast<double>(tsc);
    if (at >= from_tsc && at <= to_tsc) points.emplace_back(static_cast<double>(ns), at);
  }
  if (points.size() < 2) return 0;
  const Line line = LeastSquares(points);
  std::vector<double> off;
  for (const auto& [x, y] : points) off.push_back(std::abs(y - line.At(x)));
  const auto rank = off.begin() + static_cast<ptrdiff_t>(off.size() * 99 / 100);
  std::nth_element(off.begin(), rank, off.end());
  return *rank;
}

}  // namespace

Status ReadTruth(const std::string& path, Truth* truth) {
  std::ifstream file(path);
  if (!file) return Status::Error("cannot open " + path);
  std::string text;
  for (size_t number = 1; std::getline(file, text); ++number) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_discarded()) {
      return Status::Error(path + ":" + std::to_string(number) + ": not JSON");
    }
    const std::string kind = line.value("t", "");
    const auto at = [&](const char* name) { return line.value(name, int64_t{0}); };
    const auto device = line.value("dev", 0u);
    if (kind == "cmd") {
      truth->events[{device, line.value("job", 0u), line.value("index", 0u)}] = {
          at("fetched_tsc"), at("start_tsc"), at("end_tsc"), 0, 0};
      truth->pairs.emplace_back(at("end_ns"), at("end_tsc"));
    } else if (kind == "job") {
      truth->events[{device, line.value("job", 0u), kJob}] = {0, 0, 0, at("completion_tsc"),
                                                              at("irq_tsc")};
      truth->pairs.emplace_back(at("completion_ns"), at("completion_tsc"));
    }
  }
  return {};
}

Result<TimeScale> MakeTimeScale(const Truth& truth, std::span<const clock::Sample> samples) {
  std::vector<std::pair<double, double>> points;
  for (const clock::Sample& sample : samples) {
    if (sample.tsc_after <= sample.tsc_before) continue;
    points.emplace_back(
        0.5 * (static_cast<double>(sample.tsc_before) + static_cast<double>(sample.tsc_after)),
        0.5 * static_cast<double>(sample.host_before_ns + sample.host_after_ns));
  }
  if (points.size() < 2) return Status::Error("no clock samples with a cycle counter");
  const Line line = LeastSquares(points);
  TimeScale scale{line.x0, line.y0, line.slope, 0};
  const auto [first, last] = std::minmax_element(points.begin(), points.end());
  scale.accuracy_ns = line.slope * Scatter(truth, first->first, last->first);
  for (const auto& [x, y] : points) {
    // Half a ns is in the rounding of the host times.
    scale.accuracy_ns = std::max(scale.accuracy_ns, std::abs(y - line.At(x)) - 0.5);
  }
  return scale;
}

}  // namespace acceltrace::scoring
