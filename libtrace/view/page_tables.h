// SPDX-License-Identifier: Apache-2.0
//
// The model's tables as a page holds them. Internal.
//
// Times are ns from the page's base time. A device time x has the columns x (the likeliest),
// x_lo and x_hi (how far below and above it the bounds lie) and x_raw (the device's ticks).
// Rows refer to each other by their position in the page; -1 = not there. A page that shows a
// part of a served trace has the columns id, the row in the model, and lane_KIND, where an event
// of that kind is drawn (page_tracks.h); a lane that is 0 for all events of a kind is left out.
#ifndef LIBTRACE_VIEW_PAGE_TABLES_H_
#define LIBTRACE_VIEW_PAGE_TABLES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/model/model.h"
#include "libtrace/view/page_path.h"
#include "libtrace/view/page_tracks.h"

namespace acceltrace::view {

// The rows of each table that a page holds, in order.
struct PageRows {
  std::vector<uint32_t> api, ranges, jobs, commands, host, device_events, losses, pieces, recorder,
      path;
  // Nodes of the dependency graph (page_graph.h), whose rows are among those above.
  std::vector<uint32_t> graph;
  bool binding_only = false;  // of its edges
};
// Strings of the trace by their position in the page.
class PageNames {
 public:
  explicit PageNames(const model::Model& model) : model_(model) {}
  uint64_t Of(uint32_t id);
  uint64_t OfText(const std::string& text);
  // ["", ...]; names are cut in the middle to what keeps all of them below max_bytes.
  std::string Json(size_t max_bytes) const;

 private:
  // Of a text that stays where it is: the model's, or one of made_.
  uint32_t OfLasting(std::string_view text);

  const model::Model& model_;
  std::unordered_map<std::string_view, uint32_t> by_text_;
  std::deque<std::string_view> texts_;
  std::deque<std::string> made_;
};

// {"api": TABLE, ...}. base_ns: what the page's times count from. tracks: of a served trace.
std::string PageTablesJson(const analysis::Report& report, const PageRows& rows,
                           const analysis::TracerWork& work, const PagePath& path, int64_t base_ns,
                           PageNames* names, const PageTracks* tracks = nullptr);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_TABLES_H_
