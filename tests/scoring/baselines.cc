// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "libtrace/clock/counts.h"

namespace acceltrace::scoring {

namespace {

using clock::internal::Count;
using clock::internal::Reading;
using clock::internal::TickLine;

// A sample as the baselines see it: nominal device time against host time.
struct Point {
  double device_ns;
  double host_ns;  // middle of the bracket, less the count's base
  double width_ns;
};

struct Line {
  double device_ns = 0, host_ns = 0, slope = 1;
  double At(double device) const { return host_ns + slope * (device - device_ns); }
};

Line Through(const Point& a, const Point& b) {
  Line line{b.device_ns, b.host_ns, 1};
  if (b.device_ns > a.device_ns) line.slope = (b.host_ns - a.host_ns) / (b.device_ns - a.device_ns);
  return line;
}

// The points of one continuous count; a baseline is made for each count.
struct Series {
  uint64_t base_ticks;
  int64_t base_host_ns;
  std::vector<Point> points;
};

using Converter = std::function<double(double device_ns)>;
using Maker = std::function<Converter(const Series&)>;

const Point& Nearest(const std::vector<Point>& points, double device_ns) {
  const auto after =
      std::lower_bound(points.begin(), points.end(), device_ns,
                       [](const Point& point, double device) { return point.device_ns < device; });
  if (after == points.begin()) return *after;
  if (after == points.end()) return points.back();
  const auto before = after - 1;
  return device_ns - before->device_ns <= after->device_ns - device_ns ? *before : *after;
}

Converter NearestSnapshot(const Series& series) {
  return [points = series.points](double device_ns) {
    const Point& point = Nearest(points, device_ns);
    return point.host_ns + device_ns - point.device_ns;
  };
}

Converter OneOffset(const Series& series) {
  double sum = 0;
  for (const Point& point : series.points) sum += point.host_ns - point.device_ns;
  const double offset = sum / static_cast<double>(series.points.size());
  return [offset](double device_ns) { return device_ns + offset; };
}

Converter FirstOffset(const Series& series) {
  const Line line{series.points.front().device_ns, series.points.front().host_ns, 1};
  return [line](double device_ns) { return line.At(device_ns); };
}

// Interpolates between points and extrapolates the outer pairs.
Converter Interpolate(std::vector<Point> points) {
  return [points = std::move(points)](double device_ns) {
    if (points.size() < 2) return points.front().host_ns + device_ns - points.front().device_ns;
    size_t i = static_cast<size_t>(std::lower_bound(points.begin(), points.end(), device_ns,
                                                    [](const Point& point, double device) {
                                                      return point.device_ns < device;
                                                    }) -
                                   points.begin());
    i = std::clamp<size_t>(i, 1, points.size() - 1);
    return Through(points[i - 1], points[i]).At(device_ns);
  };
}

constexpr double kWindowNs = 1e9;

Converter TwoPoints(const Series& series) {
  std::vector<Point> resyncs;
  for (const Point& point : series.points) {
    if (resyncs.empty() || point.device_ns - resyncs.back().device_ns >= kWindowNs) {
      resyncs.push_back(point);
    }
  }
  if (resyncs.back().device_ns < series.points.back().device_ns) {
    resyncs.push_back(series.points.back());
  }
  return Interpolate(std::move(resyncs));
}

Converter MinimumRoundTrip(const Series& series) {
  std::vector<Point> best;
  double window = -1;
  for (const Point& point : series.points) {
    const double in = std::floor(point.device_ns / kWindowNs);
    if (in != window) {
      best.push_back(point);
      window = in;
    } else if (point.width_ns < best.back().width_ns) {
      best.back() = point;
    }
  }
  return Interpolate(std::move(best));
}

// The tangent of a hull of points over the middle of the time: for lower points
// (device, before) the upper hull, for upper points the lower one.
Line Tangent(const std::vector<Point>& points, double sign) {
  std::vector<std::pair<double, double>> hull;
  for (const Point& point : points) {
    const std::pair<double, double> p{
        point.device_ns, sign * (point.host_ns - point.device_ns) + 0.5 * point.width_ns};
    while (hull.size() >= 2) {
      const auto& a = hull[hull.size() - 2];
      const auto& b = hull.back();
      const double cross =
          (b.first - a.first) * (p.second - a.second) - (b.second - a.second) * (p.first - a.first);
      if (cross > 0) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  const double middle = 0.5 * (points.front().device_ns + points.back().device_ns);
  size_t i = 0;
  while (i + 2 < hull.size() && hull[i + 1].first < middle) ++i;
  if (hull.size() < 2) return {points.front().device_ns, points.front().host_ns, 1};
  const auto& a = hull[i];
  const auto& b = hull[i + 1];
  const double slope = (b.second - a.second) / (b.first - a.first);
  return {a.first, a.first + sign * a.second, 1 + sign * slope};
}

Converter ConvexHull(const Series& series) {
  // Upper points are (device, after): the lower hull; lower points mirrored.
  const Line upper = Tangent(series.points, 1);
  const Line lower = Tangent(series.points, -1);
  return [upper, lower](double device_ns) {
    return 0.5 * (upper.At(device_ns) + lower.At(device_ns));
  };
}

}  // namespace

std::vector<Baseline> MakeBaselines(const clock::ClockInfo& info,
                                    std::span<const clock::Sample> samples) {
  const auto line = std::make_shared<TickLine>(info);
  clock::internal::LeftOut left_out;
  const auto all = std::make_shared<std::vector<Series>>();
  for (const Count& count : LineUp(*line, {samples.begin(), samples.end()}, {}, {}, &left_out)) {
    Series series{count.base_ticks, count.base_host_ns, {}};
    for (const Reading& reading : count.readings) {
      const auto before = static_cast<double>(reading.sample.host_before_ns - count.base_host_ns);
      const auto after = static_cast<double>(reading.sample.host_after_ns - count.base_host_ns);
      series.points.push_back({reading.position_ns, 0.5 * (before + after), after - before});
    }
    all->push_back(std::move(series));
  }
  const auto make = [&](std::string name, std::string source, const Maker& maker) {
    std::vector<Converter> converters;
    for (const Series& series : *all) converters.push_back(maker(series));
    return Baseline{
        std::move(name), std::move(source),
        [line, all, converters = std::move(converters)](uint64_t ticks, int64_t near_ns) {
          size_t i = all->size() - 1;
          while (i > 0 && near_ns < (*all)[i].base_host_ns) --i;
          const Series& series = (*all)[i];
          const auto near = static_cast<double>(near_ns - series.base_host_ns);
          const double position = line->Position(series.base_ticks, ticks, near);
          return static_cast<double>(series.base_host_ns) + converters[i](position);
        }};
  };
  return {
      make("nearest snapshot, slope 1",
           "clock snapshots of trace converters: device time since the nearest one is added",
           NearestSnapshot),
      make("one offset for the run", "offset-only merging of per-device traces", OneOffset),
      make("first offset, nominal slope", "calibrated timestamps taken once at start", FirstOffset),
      make("two-point line, resync each s", "periodic clock counters of GPU runtimes", TwoPoints),
      make("minimum round trip each s", "the clock filter of NTP, RFC 5905 section 10",
           MinimumRoundTrip),
      make("convex hull over the run",
           "Moon, Skelly, Towsley 1999; Zhang, Liu, Xia 2002: hulls of delays", ConvexHull),
  };
}

}  // namespace acceltrace::scoring
