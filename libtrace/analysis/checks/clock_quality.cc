// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/clock_quality.h"

#include <algorithm>
#include <map>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"

namespace acceltrace::analysis {

std::vector<ClockQuality> ComputeClockQuality(const model::Model& model, ClockParts parts) {
  std::vector<ClockQuality> result;
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    const model::Device& device = model.devices[d];
    ClockQuality& quality = result.emplace_back();
    quality.device = d;
    quality.valid = device.clock.valid();
    quality.error = device.clock_error;
    quality.nominal_hz = device.about.clock().nominal_hz();
    if (!quality.valid) continue;
    quality.fit = device.clock.quality();
    if (parts == ClockParts::kFit) continue;
    std::vector<int64_t> bounds;
    const auto see = [&](const model::Interval& at) {
      // Round up, so that half a nanosecond of uncertainty counts as one.
      bounds.push_back((at.hi_ns - at.lo_ns + 1) / 2);
      if (at.mid_ns < quality.fit.first_ns || at.mid_ns > quality.fit.last_ns) ++quality.outside;
    };
    Cursor<uint32_t> of(model.jobs.device);
    Cursor<uint8_t> on_device(model.jobs.on_device);
    for (size_t j = 0; j < model.jobs.size(); ++j) {
      if (of[j] != d || !on_device[j]) continue;
      see(model.jobs.doorbell.host[j]);
      see(model.jobs.first_start.host[j]);
      see(model.jobs.last_end.host[j]);
      see(model.jobs.completion.host[j]);
    }
    quality.events = bounds.size();
    if (bounds.empty()) continue;
    const auto rank = [&](size_t percent) {
      const auto at =
          bounds.begin() + static_cast<ptrdiff_t>((bounds.size() * percent + 99) / 100 - 1);
      std::nth_element(bounds.begin(), at, bounds.end());
      return *at;
    };
    quality.bound_p50_ns = rank(50);
    quality.bound_p99_ns = rank(99);
    quality.bound_max_ns = *std::max_element(bounds.begin(), bounds.end());
  }
  return result;
}

std::vector<ClockEdge> ComputeClockEdges(const model::Model& model) {
  const model::DeviceOrders& orders = model.orders;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<model::Interval>> slacks;
  for (size_t i = 0; i < orders.slack.size(); ++i) {
    slacks[{orders.from_device[i], orders.to_device[i]}].push_back(orders.slack[i]);
  }
  std::vector<ClockEdge> edges;
  for (auto& [between, slack] : slacks) {
    ClockEdge& edge = edges.emplace_back();
    edge.from = between.first, edge.to = between.second;
    edge.orders = slack.size();
    std::vector<int64_t> bounds;
    edge.least = slack.front();
    for (const model::Interval& interval : slack) {
      edge.contradicting += interval.hi_ns < 0;
      bounds.push_back((interval.hi_ns - interval.lo_ns + 1) / 2);
      if (interval.mid_ns < edge.least.mid_ns) edge.least = interval;
    }
    const auto middle = bounds.begin() + static_cast<ptrdiff_t>(bounds.size() / 2);
    std::nth_element(bounds.begin(), middle, bounds.end());
    edge.bound_p50_ns = *middle;
  }
  return edges;
}

}  // namespace acceltrace::analysis
