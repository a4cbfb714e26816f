// SPDX-License-Identifier: Apache-2.0
//
// Converts values of a report to JSON, and the parts that tell how far it can be trusted. Internal.
#ifndef LIBTRACE_VIEW_JSON_JSON_PARTS_H_
#define LIBTRACE_VIEW_JSON_JSON_PARTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"

namespace acceltrace::view {

using Json = nlohmann::ordered_json;

// Six decimals are enough for any share here; rates are rounded to whole numbers.
inline constexpr double kShareScale = 1e6, kRateScale = 1;

// Converts a length, or a bound of a value near mid_ns; null if it is not known.
Json NsJson(int64_t ns);
Json BoundJson(int64_t bound_ns, int64_t mid_ns);
// Returns {"ns", "lo_ns", "hi_ns"}; bounds are omitted if they equal the value.
Json SpanJson(const analysis::Span& span);
Json SpanJson(const analysis::Amount& amount);
// Adds `name`, and `name`_lo and `name`_hi if they differ from it. An unknown upper bound is null.
void AddRatio(Json* json, const std::string& name, const analysis::Ratio& ratio, double scale);
Json ShareJson(const analysis::Amount& part, const analysis::Ratio& share);
Json StatsJson(const analysis::Stats& stats);
double Rounded(double value);
const std::string& DeviceName(const analysis::Report& report, uint32_t device);

// In json_ranges.cc. Returns the limit of a part, or null if nothing gains.
Json PartLimitJson(const std::vector<analysis::PartLimit>& limits, size_t part);
Json RangesJson(const std::vector<analysis::RangeUse>& uses,
                const std::vector<analysis::PartLimit>& limits);
Json SlowRangesJson(const std::vector<analysis::SlowRanges>& all);

// In json_system.cc.
Json SystemJson(const analysis::Report& report);

// In json_sites.cc.
Json CallSitesJson(const analysis::Report& report);

// In json_trust.cc.
Json ClocksJson(const analysis::Report& report);
Json ClockEdgesJson(const analysis::Report& report);
Json LossesJson(const analysis::Losses& losses);
Json CausalityJson(const analysis::Report& report);
Json LawsJson(const analysis::Report& report);
Json TracerJson(const analysis::Report& report);

// In roofline.cc.
Json RooflineJson(const analysis::Report& report);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_JSON_PARTS_H_
