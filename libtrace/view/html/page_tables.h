// SPDX-License-Identifier: Apache-2.0
//
// The model's tables, as included in a page. Internal.
//
// Times are ns since the page's base time. A device time x has the columns x (the most likely
// time), x_lo and x_hi (how far below and above it the bounds are) and x_raw (the device's ticks).
// Rows refer to each other by their position in the page; -1 = not included. A page with a part of
// a served trace also has the columns id, the row in the model, and lane_KIND, the lane of an event
// of that kind (page_tracks.h), which is omitted if it is 0 for all events of a kind.
#ifndef LIBTRACE_VIEW_HTML_PAGE_TABLES_H_
#define LIBTRACE_VIEW_HTML_PAGE_TABLES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/view/html/page_path.h"
#include "libtrace/view/html/page_tracks.h"

namespace acceltrace::view {

// The rows of each table that a page includes, in order.
struct PageRows {
  std::vector<uint32_t> api, ranges, jobs, commands, host, device_events, losses, pieces, recorder,
      path;
  // Nodes of the dependency graph (page_graph.h) that belong to the rows above.
  std::vector<uint32_t> graph;
  bool binding_only = false;  // include only these edges of the graph
};
// Numbers the strings of a page in the order of their use.
class PageNames {
 public:
  explicit PageNames(const model::Model& model) : model_(model) {}
  uint64_t Of(uint32_t id);
  uint64_t OfText(const std::string& text);
  // Returns ["", ...]; long names are cut in the middle, so that all of them together take less
  // than max_bytes.
  std::string Json(size_t max_bytes) const;

 private:
  // For a text that stays in memory: the model's, or one in made_.
  uint32_t OfLasting(std::string_view text);

  const model::Model& model_;
  std::unordered_map<std::string_view, uint32_t> by_text_;
  std::deque<std::string_view> texts_;
  std::deque<std::string> made_;
};

// Returns {"api": TABLE, ...}. base_ns is the origin of the page's times. `tracks` is only given
// for a served trace.
std::string PageTablesJson(const analysis::Report& report, const PageRows& rows,
                           const analysis::TracerWork& work, const PagePath& path, int64_t base_ns,
                           PageNames* names, const PageTracks* tracks = nullptr);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_TABLES_H_
