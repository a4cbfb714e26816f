// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json/path_json.h"

#include <cmath>

#include "libtrace/view/json/json.h"
#include "libtrace/view/json/json_parts.h"
#include "libtrace/view/text/path.h"

namespace acceltrace::view {
namespace {

int64_t Ns(double ns) { return std::llround(ns); }
double Share(double value) { return std::round(value * 1e6) / 1e6; }
Json Span(double ns, double lo_ns, double hi_ns) {
  return {{"ns", NsJson(Ns(ns))},
          {"lo_ns", BoundJson(Ns(lo_ns), Ns(ns))},
          {"hi_ns", BoundJson(Ns(hi_ns), Ns(ns))}};
}

Json SharesJson(const std::vector<analysis::PathShare>& shares, double run_ns) {
  Json list = Json::array();
  for (const analysis::PathShare& share : shares) {
    list.push_back({{"name", share.name},
                    {"where", share.where},
                    {"count", share.count},
                    {"ns", Ns(share.ns)},
                    {"tracer_ns", Ns(share.tracer_ns)},
                    {"share", Share(run_ns > 0 ? share.ns / run_ns : 0)}});
  }
  return list;
}

const char* StandingName(analysis::Limiter::Standing standing) {
  switch (standing) {
    case analysis::Limiter::Standing::kNamed:
      return "named";
    case analysis::Limiter::Standing::kSeveral:
      return "several";
    case analysis::Limiter::Standing::kInconclusive:
      return "inconclusive";
    case analysis::Limiter::Standing::kNone:
      break;
  }
  return "none";
}

std::string Text(const Json& json) {
  return json.dump(1, '\t', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Json LimiterJson(const analysis::Limiter& limiter) {
  Json resources = Json::array(), gains = Json::array();
  for (const analysis::ResourceGain& gain : limiter.gains) {
    Json row = {{"resource", analysis::ResourceKey(gain.resource)},
                {"name", analysis::ResourceName(gain.resource)}};
    row["gain"] = Span(gain.gain_ns, gain.lo_ns, gain.hi_ns);
    row["share"] = Share(gain.share);
    row["share_lo"] = Share(gain.lo_share);
    row["share_hi"] = Share(gain.hi_share);
    gains.push_back(std::move(row));
  }
  const bool named = limiter.standing == analysis::Limiter::Standing::kNamed ||
                     limiter.standing == analysis::Limiter::Standing::kSeveral;
  const size_t limits = !named                                                      ? 0
                        : limiter.standing == analysis::Limiter::Standing::kSeveral ? 2
                                                                                    : 1;
  for (size_t i = 0; i < limits && i < limiter.gains.size(); ++i) {
    resources.push_back(analysis::ResourceKey(limiter.gains[i].resource));
  }
  return {{"text", limiter.text},
          {"standing", StandingName(limiter.standing)},
          {"resources", resources},
          {"confidence", Share(limiter.confidence)},
          {"step", analysis::Limiter::kStep},
          {"run_ns", Ns(limiter.run_ns)},
          {"replay_error", Share(limiter.base_miss)},
          {"gains", gains}};
}

Json AdviceJson(const std::vector<analysis::Advice>& list) {
  Json json = Json::array();
  for (const analysis::Advice& advice : list) {
    Json row = {{"kind", advice.kind},     {"text", advice.text},   {"change", advice.change},
                {"whatif", advice.whatif}, {"count", advice.count}, {"bytes", advice.bytes},
                {"ns", Ns(advice.ns)},     {"ops", advice.ops},     {"calls", advice.calls},
                {"ranges", advice.ranges}};
    row["gain"] = Span(advice.gain_ns, advice.lo_ns, advice.hi_ns);
    row["share"] = Share(advice.share);
    row["share_lo"] = Share(advice.lo_share);
    row["share_hi"] = Share(advice.hi_share);
    json.push_back(std::move(row));
  }
  return json;
}

std::string JsonCriticalPath(const analysis::CriticalPath& path) {
  Json json = {{"schema", "acceltrace.critical-path"}, {"version", kJsonVersion}};
  if (!path.valid) {
    json["error"] = path.error;
    return Text(json);
  }
  json["run_ns"] = Ns(path.run_ns);
  json["events"] = path.nodes;
  json["on_path"] = path.on_path;
  json["causes"] = SharesJson(path.causes, path.run_ns);
  json["ops"] = SharesJson(path.ops, path.run_ns);
  json["layers"] = SharesJson(path.layers, path.run_ns);
  json["calls"] = SharesJson(path.calls, path.run_ns);
  Json slack = Json::array(), pieces = Json::array();
  for (const analysis::OpSlack& op : path.slack) {
    slack.push_back({{"op", op.op},
                     {"unit", op.unit},
                     {"count", op.count},
                     {"on_path", op.critical},
                     {"least_ns", Ns(op.least_ns)},
                     {"mean_ns", Ns(op.mean_ns)}});
  }
  for (const analysis::PathPiece& piece : path.pieces) {
    pieces.push_back({{"begin_ns", Ns(piece.begin_ns)},
                      {"end_ns", Ns(piece.end_ns)},
                      {"name", piece.name},
                      {"where", piece.where}});
  }
  json["slack"] = std::move(slack);
  json["pieces"] = std::move(pieces);
  json["more_pieces"] = path.more_pieces;
  return Text(json);
}

std::string JsonWhatIf(const WhatIf& whatif) {
  Json json = {{"schema", "acceltrace.whatif"}, {"version", kJsonVersion}};
  const analysis::Prediction& prediction = whatif.prediction;
  if (!whatif.refused.empty()) {
    json["error"] = whatif.refused;
    return Text(json);
  }
  json["recorded_ns"] = Ns(prediction.recorded_ns);
  json["replayed_ns"] = Ns(prediction.base_ns);
  if (whatif.change.empty()) {
    json["limiter"] = LimiterJson(whatif.limiter);
  } else {
    json["change"] = whatif.change;
    json["predicted"] = Span(prediction.ns, prediction.lo_ns, prediction.hi_ns);
    json["gain_ns"] = Ns(prediction.gain_ns());
  }
  return Text(json);
}

}  // namespace acceltrace::view
