// SPDX-License-Identifier: Apache-2.0
//
// The critical path, as a page shows it. Internal.
//
// analysis/whatif/critical_path.h sums up what the path's time was spent on. A page also shows
// where the path is in the timeline.
#ifndef LIBTRACE_VIEW_HTML_PAGE_PATH_H_
#define LIBTRACE_VIEW_HTML_PAGE_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/view/html/page_graph.h"

namespace acceltrace::view {

// The part of an event that is on the path.
struct PathStep {
  // The kind of the event in page/events.js; its names are in kPathEvents.
  enum Event : uint8_t { kNothing, kApi, kSubmit, kWake, kJob, kCommand };
  int64_t begin_ns = 0, end_ns = 0;  // host times
  Event event = kNothing;
  uint32_t row = 0;  // of the model's table for this kind of event
  std::string name;  // the op, or what the time was spent on
};

struct PagePath {
  analysis::CriticalPath sums;  // ops and layers with their running numbers folded
  std::vector<PathStep> steps;  // sorted by time, none of length 0
  // The parts of a job that are on the path, as flags in the tables.
  enum JobPart : uint8_t { kSubmitPart = 1, kDevicePart = 2, kWakePart = 4 };
  std::vector<uint8_t> api, jobs, commands;
  // For each command the last one that it waited for before it started; model::kNoRow if that was
  // its own fetch or is not known.
  std::vector<uint32_t> after;
  PageGraph graph;  // empty if the path is not valid

  // {"valid", "error", "run_ns", "on_path", "events", "causes", ...}
  std::string Json() const;
};

PagePath ComputePagePath(const analysis::Report& report, const analysis::TracerWork& work);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_PATH_H_
