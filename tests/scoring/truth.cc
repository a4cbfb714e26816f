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

double AtFraction(std::vector<double> values, double fraction) {
  const auto rank =
      values.begin() + static_cast<ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), rank, values.end());
  return *rank;
}

using Points = std::vector<std::pair<double, double>>;

std::vector<double> Residuals(const Points& points, const Line& line) {
  std::vector<double> residuals;
  for (const auto& [x, y] : points) residuals.push_back(y - line.At(x));
  return residuals;
}

// Least squares without outliers, which are readings that were interrupted.
Line RobustLine(Points points) {
  Line line = LeastSquares(points);
  for (int round = 0; round < 4; ++round) {
    std::vector<double> off = Residuals(points, line);
    for (double& x : off) x = std::abs(x);
    const double limit = 3 * AtFraction(off, 0.9) + 1;
    Points kept;
    for (size_t i = 0; i < points.size(); ++i) {
      if (off[i] <= limit) kept.push_back(points[i]);
    }
    if (kept.size() == points.size()) break;
    points = std::move(kept);
    line = LeastSquares(points);
  }
  return line;
}

// The distance of the middle of an interval's points from the line.
double Wander(Points points, const Line& line) {
  constexpr size_t kParts = 16;
  std::sort(points.begin(), points.end());
  double most = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const auto from = static_cast<ptrdiff_t>(points.size() * part / kParts);
    const auto to = static_cast<ptrdiff_t>(points.size() * (part + 1) / kParts);
    if (from == to) continue;
    const Points some(points.begin() + from, points.begin() + to);
    most = std::max(most, std::abs(AtFraction(Residuals(some, line), 0.5)));
  }
  return most;
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
          at("fetched_ns"), at("start_ns"), at("end_ns"), 0, 0, 0};
      truth->events[{device, line.value("job", 0u), kJob}].doorbell = at("doorbell_ns");
      truth->pairs.emplace_back(at("end_ns"), at("end_tsc"));
    } else if (kind == "job") {
      TrueTimes& times = truth->events[{device, line.value("job", 0u), kJob}];
      times.completion = at("completion_ns");
      times.irq = at("irq_ns");
      truth->pairs.emplace_back(at("completion_ns"), at("completion_tsc"));
    }
  }
  return {};
}

Result<TimeScale> MakeTimeScale(const Truth& truth, std::span<const clock::Sample> samples) {
  Points samples_at;
  for (const clock::Sample& sample : samples) {
    if (sample.tsc_after <= sample.tsc_before) continue;
    samples_at.emplace_back(
        0.5 * (static_cast<double>(sample.tsc_before) + static_cast<double>(sample.tsc_after)),
        0.5 * static_cast<double>(sample.host_before_ns + sample.host_after_ns));
  }
  if (samples_at.size() < 2) return Status::Error("no clock samples with a cycle counter");
  const Line host = LeastSquares(samples_at);
  // The log may contain other recordings as well.
  const auto [first, last] = std::minmax_element(samples_at.begin(), samples_at.end());
  Points pairs;
  for (const auto& [ns, tsc] : truth.pairs) {
    const auto at = static_cast<double>(tsc);
    if (at >= first->first && at <= last->first) pairs.emplace_back(static_cast<double>(ns), at);
  }
  if (pairs.size() < 2) return Status::Error("nothing in the truth log while it was recorded");
  const Line tsc = RobustLine(pairs);
  TimeScale scale{tsc.x0, host.At(tsc.y0), host.slope * tsc.slope, 0};
  scale.accuracy_ns = host.slope * Wander(pairs, tsc);
  for (const double off : Residuals(samples_at, host)) {
    // Half a ns is due to the rounding of host times.
    scale.accuracy_ns = std::max(scale.accuracy_ns, std::abs(off) - 0.5);
  }
  return scale;
}

}  // namespace acceltrace::scoring
