// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/page_head.h"
#include "libtrace/view/page_path.h"
#include "libtrace/view/page_select.h"
#include "libtrace/view/page_tables.h"

namespace acceltrace::view {
namespace {

constexpr size_t kMaxNameBytes = 2'000'000;
constexpr uint64_t kLeastRoom = 100'000;
constexpr int kMostAttempts = 8;

// The dependency graph's nodes of rows that are on the page; in a thinned page those that an edge
// of it leads to or from.
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

Result<HtmlStats> ExportHtml(const analysis::Report& report, const Sink& sink,
                             const HtmlOptions& options) {
  const model::Model& model = *report.model;
  const int64_t base_ns = model.begin_ns;
  const analysis::TracerWork work(model);
  const PagePath path = ComputePagePath(report, work);
  const std::string head = PageHead(report, path);
  const size_t fixed = PageBegin().size() + head.size() + PageEnd().size();
  // What rows take is known when they are written: less of them until they fit.
  uint64_t room = options.max_bytes > fixed + kLeastRoom ? options.max_bytes - fixed : kLeastRoom;
  HtmlStats stats;
  std::string before, tables;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    PageSelection selection = SelectRows(report, work, path, base_ns, room);
    PageRows& rows = selection.rows;
    rows.binding_only = selection.thinned;
    rows.graph = GraphOf(rows, path.graph);
    PageNames names(model);
    tables.clear();
    tables.shrink_to_fit();
    tables = PageTablesJson(report, rows, work, path, base_ns, &names);
    tables += '}';
    // In its place: there may be megabytes of names.
    before = "\"names\":";
    before += names.Json(kMaxNameBytes);
    before += fmt::format(",\"coverage\":{},\"tables\":", selection.coverage);
    stats.thinned = selection.thinned;
    stats.bytes = fixed + before.size() + tables.size();
    if (stats.bytes <= options.max_bytes) break;
    room = static_cast<uint64_t>(static_cast<double>(room) * 0.9 *
                                 static_cast<double>(options.max_bytes) /
                                 static_cast<double>(stats.bytes));
  }
  for (std::string_view part : {PageBegin(), std::string_view(head), std::string_view(before),
                                std::string_view(tables), PageEnd()}) {
    const Status status = sink(part);
    if (!status.ok()) return status;
  }
  return stats;
}

}  // namespace acceltrace::view
