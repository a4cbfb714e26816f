// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/view/html/page_head.h"
#include "libtrace/view/html/page_path.h"
#include "libtrace/view/html/page_select.h"
#include "libtrace/view/html/page_tables.h"

namespace acceltrace::view {
namespace {

constexpr size_t kMaxNameBytes = 2'000'000;
constexpr uint64_t kLeastRoom = 100'000;
constexpr int kMostAttempts = 8;

// Returns the dependency graph's nodes for rows of the page; in a thinned page, only those that an
// edge of the page leads to or from.
std::vector<uint32_t> GraphOf(const PageRows& rows, const PageGraph& graph) {
  const auto on_page = [&](uint32_t n) {
    const PageGraph::Kind kind = graph.kind[n];
    const std::vector<uint32_t>& list = kind == PageGraph::kThread    ? rows.api
                                        : kind == PageGraph::kCommand ? rows.commands
                                                                      : rows.jobs;
    return graph.row[n] == model::kNoRow ||
           std::binary_search(list.begin(), list.end(), graph.row[n]);
  };
  std::vector<bool> kept(graph.size());
  for (uint32_t n = 0; n < graph.size(); ++n) kept[n] = on_page(n);
  if (rows.binding_only) {
    std::vector<bool> joined(graph.size());
    for (uint32_t e = 0; e < graph.from.size(); ++e) {
      if (graph.binding[e] == 0 || !kept[graph.from[e]] || !kept[graph.to[e]]) continue;
      joined[graph.from[e]] = joined[graph.to[e]] = true;
    }
    kept = std::move(joined);
  }
  std::vector<uint32_t> nodes;
  for (uint32_t n = 0; n < graph.size(); ++n) {
    if (kept[n]) nodes.push_back(n);
  }
  return nodes;
}

}  // namespace

PageData MakePageData(const analysis::Report& report, uint64_t max_bytes) {
  const model::Model& model = *report.model;
  const int64_t base_ns = model.begin_ns;
  const analysis::TracerWork work(model);
  const PagePath path = ComputePagePath(report, work);
  PageData data;
  data.head = PageHead(report, path);
  const uint64_t fixed = data.head.size();
  // The size of rows is only known when they are written: reduce their number until they fit.
  uint64_t room = max_bytes > fixed + kLeastRoom ? max_bytes - fixed : kLeastRoom;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    PageSelection selection = SelectRows(report, work, path, base_ns, room);
    PageRows& rows = selection.rows;
    rows.binding_only = selection.thinned;
    rows.graph = GraphOf(rows, path.graph);
    PageNames names(model);
    data.tables.clear();
    data.tables.shrink_to_fit();
    data.tables = PageTablesJson(report, rows, work, path, base_ns, &names);
    data.tables += '}';
    // Append in place, since there may be megabytes of names.
    data.before = "\"names\":";
    data.before += names.Json(kMaxNameBytes);
    data.before += fmt::format(",\"coverage\":{},\"tables\":", selection.coverage);
    data.thinned = selection.thinned;
    const uint64_t bytes = fixed + data.before.size() + data.tables.size();
    if (bytes <= max_bytes) break;
    room = static_cast<uint64_t>(static_cast<double>(room) * 0.9 * static_cast<double>(max_bytes) /
                                 static_cast<double>(bytes));
  }
  return data;
}

Result<HtmlStats> ExportHtml(const analysis::Report& report, const Sink& sink,
                             const HtmlOptions& options) {
  const uint64_t around = PageBegin().size() + PageEnd().size();
  const PageData data =
      MakePageData(report, options.max_bytes > around ? options.max_bytes - around : 0);
  HtmlStats stats;
  stats.thinned = data.thinned;
  for (std::string_view part :
       {PageBegin(), std::string_view(data.head), std::string_view(data.before),
        std::string_view(data.tables), PageEnd()}) {
    const Status status = sink(part);
    if (!status.ok()) return status;
    stats.bytes += part.size();
  }
  return stats;
}

}  // namespace acceltrace::view
