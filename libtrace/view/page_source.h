// SPDX-License-Identifier: Apache-2.0
//
// What a page asks of a trace that it does not hold: `acceltrace serve` gives these answers.
//
// Every answer is JSON in ASCII and of bounded size, whatever the trace is. Times are ns from the
// first event, as in the page; events are KIND.ROW, a kind of page/events.js and a row of the
// model's table.
#ifndef LIBTRACE_VIEW_PAGE_SOURCE_H_
#define LIBTRACE_VIEW_PAGE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/page_path.h"
#include "libtrace/view/page_tables.h"
#include "libtrace/view/page_tracks.h"

namespace acceltrace::view {

struct PageEvent {
  PageKind kind;
  uint32_t row;
};

struct PageView {
  int64_t from = 0, to = 1;  // from < to
  uint64_t pixels = 1000;
  std::optional<PageEvent> selected;  // comes along with what belongs to it
};

class PageSource {
 public:
  static constexpr uint64_t kMostPixels = 4096;
  static constexpr size_t kMostHits = 100'000, kHitsSent = 2000, kMostNames = 40;

  // report: outlives this. live: which one it is of a recording that goes on, 0: of none.
  explicit PageSource(const analysis::Report& report, uint64_t live = 0);

  const PageTracks& tracks() const { return tracks_; }
  // The page, with the run's window in it.
  std::string Html() const;
  // All that the page holds but a window, for one that is open already.
  std::string Head() const;
  // {"from", "to", "bucket_ns", "whole", "names", "coverage", "tables"}: of each lane the longest
  // event of each stretch of a pixel or, where that would be too much, of several, and what reaches
  // into the window; whole: nothing was left out.
  std::string Window(const PageView& view) const;
  // {"kind", "row", "track", "begin", "end"}, or null: it is drawn nowhere.
  std::string Event(const PageEvent& event) const;
  // The event after (by > 0) or before one on its track, likewise.
  std::string Step(const PageEvent& event, int by) const;
  // {"count", "first", "hits": [[KIND, row, begin], ...]}: events whose names hold a text, in
  // order of time, from around `at` on; first: the number of the first one that is sent.
  std::string Search(std::string_view text, int64_t at) const;
  // {"tracks": [{"id", "events", "within", "covered"}], "names": [{"name", "track",
  // "events", "within", "longest"}], "num_names"}: what lies in [from, to]; the names that took
  // most of it.
  std::string Area(int64_t from, int64_t to, const std::vector<std::string>& tracks) const;
  // What an event is called.
  std::string NameOf(const PageEvent& event) const;
  std::optional<PageEvent> ParseEvent(std::string_view text) const;

 private:
  int64_t At(int64_t time) const;  // on the host's clock
  // Whether anything was left out.
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

#endif  // LIBTRACE_VIEW_PAGE_SOURCE_H_
