// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libtrace/analysis/rows/unknown.h"
#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {

Json NsJson(int64_t ns) { return analysis::IsKnown(ns) ? Json(ns) : Json(); }
Json BoundJson(int64_t bound_ns, int64_t mid_ns) {
  return analysis::IsKnown(bound_ns, mid_ns) ? Json(bound_ns) : Json();
}

Json SpanJson(const analysis::Span& span) {
  Json json = {{"ns", NsJson(span.mid_ns)}};
  if (span.lo_ns != span.mid_ns || span.hi_ns != span.mid_ns) {
    json["lo_ns"] = BoundJson(span.lo_ns, span.mid_ns);
    json["hi_ns"] = BoundJson(span.hi_ns, span.mid_ns);
  }
  return json;
}

Json SpanJson(const analysis::Amount& amount) { return SpanJson(amount.Round()); }

void AddRatio(Json* json, const std::string& name, const analysis::Ratio& ratio, double scale) {
  const auto number = [scale](double value) { return Json(value / scale); };
  (*json)[name] = number(std::round(ratio.mid * scale));
  const double lo = std::floor(ratio.lo * scale), hi = std::ceil(ratio.hi * scale);
  if (lo == hi) return;
  (*json)[name + "_lo"] = number(lo);
  (*json)[name + "_hi"] = std::isinf(ratio.hi) ? Json() : number(hi);
}

Json ShareJson(const analysis::Amount& part, const analysis::Ratio& share) {
  Json json = SpanJson(part);
  AddRatio(&json, "share", share, kShareScale);
  return json;
}

Json StatsJson(const analysis::Stats& stats) {
  Json json = {{"count", stats.count}};
  if (stats.count == 0) return json;
  json["min"] = SpanJson(stats.min);
  json["mean"] = SpanJson(stats.mean);
  json["p50"] = SpanJson(stats.p50);
  json["p90"] = SpanJson(stats.p90);
  json["p99"] = SpanJson(stats.p99);
  json["max"] = SpanJson(stats.max);
  json["total"] = SpanJson(stats.total);
  return json;
}

double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

const std::string& DeviceName(const analysis::Report& report, uint32_t device) {
  return report.model->devices[device].about.name();
}

}  // namespace acceltrace::view
