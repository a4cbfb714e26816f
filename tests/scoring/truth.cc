// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/truth.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

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

// The log reads the virtual clock first and the TSC after it: a pair's TSC is late, by
// as much as came in between. The line below all pairs, across their middle.
Line LowerLine(std::vector<std::pair<double, double>> points) {
  std::sort(points.begin(), points.end());
  std::vector<std::pair<double, double>> hull;
  for (const auto& p : points) {
    while (hull.size() >= 2) {
      const auto& a = hull[hull.size() - 2];
      const auto& b = hull.back();
      if ((b.first - a.first) * (p.second - a.second) -
              (b.second - a.second) * (p.first - a.first) >
          0) {
        break;
      }
      hull.pop_back();
    }
    hull.push_back(p);
  }
  if (hull.size() < 2) return {points.front().first, points.front().second, 1};
  const double middle = 0.5 * (points.front().first + points.back().first);
  size_t i = 0;
  while (i + 2 < hull.size() && hull[i + 1].first < middle) ++i;
  const auto& a = hull[i];
  const auto& b = hull[i + 1];
  return {a.first, a.second, b.first > a.first ? (b.second - a.second) / (b.first - a.first) : 1};
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
    const auto pair = [&](const char* ns, const char* tsc) {
      if (at(ns) != 0 && at(tsc) != 0) truth->pairs.emplace_back(at(ns), at(tsc));
    };
    const auto device = line.value("dev", 0u);
    if (kind == "cmd") {
      truth->events[{device, line.value("job", 0u), line.value("index", 0u)}] = {
          at("fetched_ns"), at("start_ns"), at("end_ns"), 0, 0};
      pair("end_ns", "end_tsc");
    } else if (kind == "job") {
      truth->events[{device, line.value("job", 0u), kJob}] = {0, 0, 0, at("completion_ns"),
                                                              at("irq_ns")};
      pair("completion_ns", "completion_tsc");
    } else if (kind == "doorbell") {
      pair("time_ns", "tsc");
    }
  }
  return {};
}

Result<TimeScale> MakeTimeScale(const Truth& truth, std::span<const clock::Sample> samples) {
  // TSC to CLOCK_MONOTONIC: the driver's samples name both at the same instants.
  std::vector<std::pair<double, double>> tsc_host;
  for (const clock::Sample& sample : samples) {
    if (sample.tsc_after <= sample.tsc_before) continue;
    tsc_host.emplace_back(
        0.5 * (static_cast<double>(sample.tsc_before) + static_cast<double>(sample.tsc_after)),
        0.5 * static_cast<double>(sample.host_before_ns + sample.host_after_ns));
  }
  if (tsc_host.size() < 2 || truth.pairs.size() < 2) {
    return Status::Error("no clock samples with a cycle counter, or an empty truth log");
  }
  const Line host = LeastSquares(tsc_host);
  const bool same = std::all_of(truth.pairs.begin(), truth.pairs.end(),
                                [](const auto& pair) { return pair.first == pair.second; });
  Line tsc;  // the same clock under icount
  if (!same) tsc = LowerLine({truth.pairs.begin(), truth.pairs.end()});

  TimeScale scale;
  scale.origin = static_cast<double>(truth.pairs.front().first);
  scale.host_origin_ns = host.At(tsc.At(scale.origin));
  scale.slope = host.slope * tsc.slope;
  for (const auto& [x, y] : tsc_host) {
    scale.residual_ns = std::max(scale.residual_ns, std::abs(y - host.At(x)));
  }
  return scale;
}

}  // namespace acceltrace::scoring
