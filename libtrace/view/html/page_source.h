// SPDX-License-Identifier: Apache-2.0
//
// Answers the requests of a page that does not have the whole trace, for `acceltrace serve`.
//
// Every answer is JSON in ASCII and of bounded size, whatever the trace is. Times are ns since the
// first event, as in the page; events are KIND.ROW, with a kind of page/events.js and a row of the
// model's table.
#ifndef LIBTRACE_VIEW_HTML_PAGE_SOURCE_H_
#define LIBTRACE_VIEW_HTML_PAGE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/view/html/page_path.h"
#include "libtrace/view/html/page_tables.h"
#include "libtrace/view/html/page_tracks.h"

namespace acceltrace::view {

struct PageEvent {
  PageKind kind;
  uint32_t row;
};

struct PageView {
  int64_t from = 0, to = 1;  // from < to
  uint64_t pixels = 1000;
  std::optional<PageEvent> selected;  // always included, along with its related events
};

class PageSource {
 public:
  static constexpr uint64_t kMostPixels = 4096;
  static constexpr size_t kMostHits = 100'000, kHitsSent = 2000, kMostNames = 40;

  // The report must outlive the source. `live` is its number within a live recording, or 0 for a
  // complete trace.
  explicit PageSource(const analysis::Report& report, uint64_t live = 0);

  const PageTracks& tracks() const { return tracks_; }
  // Returns the page, including the window of the run.
  std::string Html() const;
  // Returns everything except for the window, to update an open page.
  std::string Head() const;
  // Returns {"from", "to", "bucket_ns", "whole", "names", "coverage", "tables"}: for each lane, the
  // longest event of each interval of a pixel (or of several, if there would be too many) and
  // events that reach into the window. `whole` means that nothing was omitted.
  std::string Window(const PageView& view) const;
  // Returns {"kind", "row", "track", "begin", "end"}, or null if the event is not drawn.
  std::string Event(const PageEvent& event) const;
  // Returns the next event on its track (by > 0) or the previous one, in the same format.
  std::string Step(const PageEvent& event, int by) const;
  // Returns {"count", "first", "hits": [[KIND, row, begin], ...]}: the events whose names contain a
  // text, sorted by time, starting around `at`. `first` is the number of the first one that is
  // sent.
  std::string Search(std::string_view text, int64_t at) const;
  // Returns {"tracks": [{"id", "events", "within", "covered"}], "names": [{"name", "track",
  // "events", "within", "longest"}], "num_names"} for the events in [from, to], with the names that
  // took most of it.
  std::string Area(int64_t from, int64_t to, const std::vector<std::string>& tracks) const;
  // Returns the name of an event.
  std::string NameOf(const PageEvent& event) const;
  std::optional<PageEvent> ParseEvent(std::string_view text) const;

 private:
  int64_t At(int64_t time) const;  // converts to the host's clock
  // Returns true if anything was omitted.
  bool SelectTracks(const PageView& view, size_t stretches, PageRows* rows,
                    std::string* coverage) const;
  size_t Stretches(const PageView& view) const;
  void BringAlong(const PageEvent& event, PageRows* rows) const;
  void BringJob(uint32_t job, PageRows* rows) const;
  void BringGraph(const PageEvent& event, PageRows* rows) const;
  void BringDependencies(uint32_t command, PageRows* rows) const;
  std::string Served() const;
  // Events with the same key have the same name.
  uint64_t NameKey(PageKind kind, uint32_t row) const;
  std::string EventJson(const PageEvent& event, const std::string& track) const;

  const analysis::Report& report_;
  const uint64_t live_;
  const model::Model& model_;
  const analysis::TracerWork work_;
  const PagePath path_;
  const PageTracks tracks_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_SOURCE_H_
