// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "libtrace/analysis/rows/timeline.h"
#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/html/page_bins.h"

namespace acceltrace::view {
namespace {

constexpr size_t kBins = 480;
constexpr size_t kMostPoints = 4000;  // per counter

struct UnitSums {
  std::vector<double> busy, stalled, waiting, bytes;
  UnitSums() : busy(kBins), stalled(kBins), waiting(kBins), bytes(kBins) {}
};

std::string Numbers(const std::vector<double>& values) {
  std::string json = "[";
  for (double value : values) {
    json += fmt::format("{}{:.6g}", json.size() > 1 ? "," : "", std::isfinite(value) ? value : 0);
  }
  return json + "]";
}

std::string Units(const model::Model& model, const Bins& bins) {
  std::vector<std::vector<UnitSums>> sums(model.devices.size());
  for (size_t d = 0; d < sums.size(); ++d) {
    sums[d].resize(static_cast<size_t>(model.devices[d].about.units_size()));
  }
  const model::Commands& commands = model.commands;
  for (size_t i = 0; i < commands.size(); ++i) {
    UnitSums& unit = sums[commands.device[i]][commands.unit[i]];
    const int64_t head_ns = commands.head.host[i].mid_ns, start_ns = commands.start.host[i].mid_ns;
    const int64_t end_ns = commands.end.host[i].mid_ns;
    const double run_ns = LengthNs(start_ns, end_ns);
    const auto run_ticks = static_cast<double>(commands.end.ticks[i] - commands.start.ticks[i]);
    const auto busy_ticks = model.BusyTicks(i);
    const double share = busy_ticks && run_ticks > 0
                             ? std::min(1.0, static_cast<double>(*busy_ticks) / run_ticks)
                             : 1;
    bins.Add(start_ns, end_ns, run_ns * share, &unit.busy);
    bins.Add(start_ns, end_ns, run_ns * (1 - share), &unit.stalled);
    bins.Add(head_ns, start_ns, LengthNs(head_ns, start_ns), &unit.waiting);
    if (model.devices[commands.device[i]].IsDma(commands.unit[i])) {
      bins.Add(start_ns, end_ns, static_cast<double>(commands.bytes[i]), &unit.bytes);
    }
  }
  std::string json = "[";
  for (size_t d = 0; d < sums.size(); ++d) {
    for (size_t u = 0; u < sums[d].size(); ++u) {
      std::vector<double> taken(kBins);
      const std::string busy = SharesText(sums[d][u].busy, bins.width_ns(), &taken);
      const std::string stalled = SharesText(sums[d][u].stalled, bins.width_ns(), &taken);
      const std::string waiting = SharesText(sums[d][u].waiting, bins.width_ns(), &taken);
      json += fmt::format(
          "{}{{\"device\":{},\"unit\":{},\"busy\":\"{}\",\"stalled\":\"{}\",\"waiting\":\"{}\"",
          json.size() > 1 ? "," : "", d, u, busy, stalled, waiting);
      if (model.devices[d].IsDma(static_cast<uint32_t>(u))) {
        json += ",\"bytes\":" + Numbers(sums[d][u].bytes);
      }
      json += "}";
    }
  }
  return json + "]";
}

// Returns the classes of the run in each bin.
std::string Classes(const analysis::Breakdown& breakdown, const Bins& bins) {
  std::array<std::vector<double>, analysis::kNumClasses> sums;
  for (std::vector<double>& sum : sums) sum.resize(kBins);
  int64_t from_ns = breakdown.begin_ns;
  for (const analysis::Piece& piece : breakdown.pieces) {
    bins.Add(from_ns, piece.end_ns, LengthNs(from_ns, piece.end_ns), &sums[piece.of]);
    from_ns = piece.end_ns;
  }
  std::string json = "[";
  for (const std::vector<double>& sum : sums) {
    json += fmt::format("{}\"{}\"", json.size() > 1 ? "," : "", SharesText(sum, bins.width_ns()));
  }
  return json + "]";
}

// Returns the percentiles 0 to 100 of the time from a job's API call until its completion is
// consumed.
std::string LatencyQuantiles(const model::Model& model) {
  std::vector<double> lengths;
  const auto lines = std::make_unique<analysis::JobTimelines>(model);
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    const analysis::Timeline& timeline = lines->Of(j);
    if (!timeline.seen[analysis::kApiBegin] || !timeline.seen[analysis::kConsumed]) continue;
    lengths.push_back(
        LengthNs(timeline.at[analysis::kApiBegin].mid_ns, timeline.at[analysis::kConsumed].mid_ns));
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<double> quantiles;
  for (size_t p = 0; p <= 100 && !lengths.empty(); ++p) {
    const size_t rank = std::max<size_t>(1, (p * lengths.size() + 99) / 100);
    quantiles.push_back(lengths[rank - 1]);
  }
  return fmt::format("{{\"count\":{},\"quantiles\":{}}}", lengths.size(), Numbers(quantiles));
}

struct Point {
  int64_t from_ns, to_ns;
  double value;
};

// Merges neighbours to their mean until the number of points is low enough.
void Thin(std::vector<Point>* points) {
  while (points->size() > kMostPoints) {
    std::vector<Point> fewer;
    for (size_t i = 0; i < points->size(); i += 2) {
      Point point = (*points)[i];
      if (i + 1 < points->size()) {
        const Point& next = (*points)[i + 1];
        const double a = LengthNs(point.from_ns, point.to_ns);
        const double b = LengthNs(next.from_ns, next.to_ns);
        if (a + b > 0) point.value = (point.value * a + next.value * b) / (a + b);
        point.to_ns = next.to_ns;
      }
      fewer.push_back(point);
    }
    *points = std::move(fewer);
  }
}

// Returns a counter's growth from one snapshot to the next as a rate.
std::vector<Point> Rates(const model::Device& device, size_t counter, bool share) {
  const model::CounterSamples& samples = device.counters;
  const double hz = static_cast<double>(device.about.clock().nominal_hz());
  std::vector<Point> points;
  bool any = false;
  size_t last = SIZE_MAX;
  for (size_t row = 0; row < samples.size(); ++row) {
    if (!samples.Has(row, counter)) continue;
    if (last != SIZE_MAX && samples.time.ticks[row] > samples.time.ticks[last]) {
      const uint64_t grown = samples.At(row, counter) - samples.At(last, counter);
      const auto ticks = static_cast<double>(samples.time.ticks[row] - samples.time.ticks[last]);
      any |= grown != 0;
      points.push_back({samples.time.host[last].mid_ns, samples.time.host[row].mid_ns,
                        static_cast<double>(grown) / ticks * (share ? 100 : hz)});
    }
    last = row;
  }
  if (!any) points.clear();
  return points;
}

std::string Counters(const model::Model& model, int64_t base_ns) {
  std::string json = "[";
  for (size_t d = 0; d < model.devices.size(); ++d) {
    const model::Device& device = model.devices[d];
    for (size_t c = 0; c < device.counters.num_counters; ++c) {
      const proto::Counter& about = device.about.counters(static_cast<int>(c));
      // These have no information of their own: all others are relative to the former, and the
      // latter is what busy and stalls leave.
      if (about.name() == "elapsed_ticks" || about.name().ends_with("_idle")) continue;
      const bool share = about.unit() == "ticks";
      std::vector<Point> points = Rates(device, c, share);
      if (points.empty()) continue;
      const size_t samples = points.size();
      Thin(&points);
      std::vector<uint32_t> rows(points.size());
      for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
      PageTable table(rows, samples);
      table.Delta("begin", [&](uint32_t i) { return Less(points[i].from_ns, base_ns); });
      table.Plain("length", [&](uint32_t i) { return Less(points[i].to_ns, points[i].from_ns); });
      std::vector<double> values;
      for (const Point& point : points) values.push_back(point.value);
      json += fmt::format("{}{{\"device\":{},\"name\":{},\"unit\":{},\"at\":{},\"values\":{}}}",
                          json.size() > 1 ? "," : "", d, PageString(about.name()),
                          PageString(share                     ? "%"
                                     : about.unit() == "bytes" ? "B/s"
                                                               : "/s"),
                          table.Json(), Numbers(values));
    }
  }
  return json + "]";
}

}  // namespace

std::string PageSeriesJson(const analysis::Report& report, int64_t base_ns) {
  const model::Model& model = *report.model;
  int64_t begin_ns = report.breakdown.begin_ns, end_ns = report.breakdown.end_ns;
  if (end_ns <= begin_ns) begin_ns = model.begin_ns, end_ns = model.end_ns;
  const Bins bins(begin_ns, end_ns, kBins);
  return fmt::format(
      "{{\"begin\":{},\"end\":{},\"bins\":{},\"units\":{},\"classes\":{},\"latency\":{},"
      "\"counters\":{}}}",
      Less(begin_ns, base_ns), Less(end_ns, base_ns), kBins, Units(model, bins),
      Classes(report.breakdown, bins), LatencyQuantiles(model), Counters(model, base_ns));
}

}  // namespace acceltrace::view
