// SPDX-License-Identifier: Apache-2.0
//
// Values of a report as JSON, and its parts that say how far it can be trusted. Internal.
#ifndef LIBTRACE_VIEW_JSON_PARTS_H_
#define LIBTRACE_VIEW_JSON_PARTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/analysis/report.h"

namespace acceltrace::view {

using Json = nlohmann::ordered_json;

// Six decimals are more than any share here is worth; rates are whole.
inline constexpr double kShareScale = 1e6, kRateScale = 1;

// A length, and a bound of what is about mid_ns: null where it is not known.
Json NsJson(int64_t ns);
Json BoundJson(int64_t bound_ns, int64_t mid_ns);
// {"ns", "lo_ns", "hi_ns"}; bounds only where they differ from the value.
Json SpanJson(const analysis::Span& span);
Json SpanJson(const analysis::Amount& amount);
// `name`, and where they differ from it `name`_lo and `name`_hi; an upper bound that is not
// known is null.
void AddRatio(Json* json, const std::string& name, const analysis::Ratio& ratio, double scale);
Json ShareJson(const analysis::Amount& part, const analysis::Ratio& share);
Json StatsJson(const analysis::Stats& stats);
double Rounded(double value);
const std::string& DeviceName(const analysis::Report& report, uint32_t device);

// Of json_ranges.cc. The limit of a part; null where nothing gains.
Json PartLimitJson(const std::vector<analysis::PartLimit>& limits, size_t part);
Json RangesJson(const std::vector<analysis::RangeUse>& uses,
                const std::vector<analysis::PartLimit>& limits);
Json SlowRangesJson(const std::vector<analysis::SlowRanges>& all);

// Of json_system.cc.
Json SystemJson(const analysis::Report& report);

// Of json_sites.cc.
Json CallSitesJson(const analysis::Report& report);

// Of json_trust.cc.
Json ClocksJson(const analysis::Report& report);
Json ClockEdgesJson(const analysis::Report& report);
Json LossesJson(const analysis::Losses& losses);
Json CausalityJson(const analysis::Report& report);
Json LawsJson(const analysis::Report& report);
Json TracerJson(const analysis::Report& report);

// Of roofline.cc.
Json RooflineJson(const analysis::Report& report);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_JSON_PARTS_H_
