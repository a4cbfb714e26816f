// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/compare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "libtrace/view/html/page_head.h"
#include "libtrace/view/json/diff.h"

namespace acceltrace::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

std::string Ascii(const Json& json) {
  return Inert(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

// Returns an object without its closing brace.
std::string SideJson(const ComparedSide& side) {
  std::string command;
  for (const std::string& word : side.report->model->info.command()) {
    command += (command.empty() ? "" : " ") + word;
  }
  std::string json = Ascii({{"name", side.name}, {"command", command}});
  json.pop_back();
  return json;
}

std::string Begin(const analysis::Diff& diff, bool served) {
  return fmt::format("{{\"version\":{},\"served\":{},\"diff\":{}", kVersion, served,
                     Ascii(Json::parse(JsonDiff(diff))));
}

}  // namespace

Result<HtmlStats> ExportComparison(const analysis::Diff& diff, const ComparedSide& a,
                                   const ComparedSide& b, const Sink& sink,
                                   const HtmlOptions& options) {
  const std::string page = Ascii(Json::array({std::string(PageBegin()), std::string(PageEnd())}));
  const std::string begin = std::string(BothBegin()) + Begin(diff, false) + ",\"page\":" + page;
  const uint64_t fixed = begin.size() + BothEnd().size();
  // Each page gets half of the rest, although it cannot be smaller than the smallest page.
  const uint64_t half = options.max_bytes > fixed ? (options.max_bytes - fixed) / 2 : 0;
  HtmlStats stats;
  stats.bytes = fixed;
  Status status = sink(begin);
  for (const ComparedSide* side : {&a, &b}) {
    const PageData data = MakePageData(*side->report, half);
    const std::string before =
        fmt::format(",\"{}\":{},\"data\":", side == &a ? "a" : "b", SideJson(*side));
    for (std::string_view part :
         {std::string_view(before), std::string_view(data.head), std::string_view(data.before),
          std::string_view(data.tables), std::string_view("}")}) {
      if (status.ok()) status = sink(part);
      stats.bytes += part.size();
    }
    stats.thinned |= data.thinned;
  }
  if (status.ok()) status = sink("}");
  if (status.ok()) status = sink(BothEnd());
  if (!status.ok()) return status;
  return stats;
}

std::string ServedComparison(const analysis::Diff& diff, const ComparedSide& a,
                             const ComparedSide& b) {
  std::string page(BothBegin());
  // Allow frames from the same origin.
  const std::string_view all = "default-src 'none';";
  const size_t policy = page.find(all);
  if (policy != page.npos) page.insert(policy + all.size(), " frame-src 'self';");
  page += Begin(diff, true);
  for (const ComparedSide* side : {&a, &b}) {
    page += fmt::format(",\"{}\":{}}}", side == &a ? "a" : "b", SideJson(*side));
  }
  page += "}";
  return page + std::string(BothEnd());
}

}  // namespace acceltrace::view
