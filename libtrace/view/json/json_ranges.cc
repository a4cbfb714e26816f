// SPDX-License-Identifier: Apache-2.0
//
// Converts parts of a run to JSON: what limits each, ranges, and what slow ranges have in common.
#include <cmath>

#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {

// Names what gains most when it is Limiter::kStep times as fast, or two resources if they gain
// nearly the same.
Json PartLimitJson(const std::vector<analysis::PartLimit>& limits, size_t part) {
  if (part >= limits.size() || limits[part].first.share <= 0) return nullptr;
  const analysis::PartLimit& limit = limits[part];
  Json gains = Json::array();
  for (const auto& gain : {limit.first, limit.second}) {
    if (gain.share <= 0) continue;
    gains.push_back({{"resource", analysis::ResourceKey(gain.resource)},
                     {"share", std::round(gain.share * 1e6) / 1e6}});
  }
  return {{"time_ns", std::round(limit.ns)}, {"several", limit.several()}, {"gains", gains}};
}

Json RangesJson(const std::vector<analysis::RangeUse>& uses,
                const std::vector<analysis::PartLimit>& limits) {
  Json ranges = Json::array();
  for (const analysis::RangeUse& range : uses) {
    ranges.push_back({{"range", range.name},
                      {"parent", range.parent == model::kNoRow ? Json() : Json(range.parent)},
                      {"depth", range.depth},
                      {"count", range.count},
                      {"host_ns", range.host_ns},
                      {"longest_ns", range.longest_ns},
                      {"jobs", range.jobs},
                      {"commands", range.commands},
                      {"device_time", SpanJson(range.device)},
                      {"limit", PartLimitJson(limits, ranges.size())}});
  }
  return ranges;
}

Json SlowRangesJson(const std::vector<analysis::SlowRanges>& all) {
  const auto parts = [](const std::vector<analysis::SlowRangePart>& of) {
    Json list = Json::array();
    for (const analysis::SlowRangePart& part : of) {
      list.push_back(
          {{"name", part.name},
           {"slow", {{"ns", part.ns}, {"count", part.count}, {"bytes", part.bytes}}},
           {"usual",
            {{"ns", part.usual_ns}, {"count", part.usual_count}, {"bytes", part.usual_bytes}}}});
    }
    return list;
  };
  Json list = Json::array();
  for (const analysis::SlowRanges& slow : all) {
    list.push_back({{"range", slow.name},
                    {"count", slow.count},
                    {"slow", slow.slow},
                    {"median_ns", slow.median_ns},
                    {"slow_ns", slow.slow_ns},
                    {"longest_ns", slow.longest_ns},
                    {"host", parts(slow.host)},
                    {"devices", parts(slow.device)}});
  }
  return list;
}

}  // namespace acceltrace::view
