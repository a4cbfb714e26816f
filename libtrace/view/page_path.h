// SPDX-License-Identifier: Apache-2.0
//
// The critical path as a page shows it. Internal.
//
// analysis/critical_path.h adds up what the path's time was spent on; a page also shows where in
// the timeline it runs.
#ifndef LIBTRACE_VIEW_PAGE_PATH_H_
#define LIBTRACE_VIEW_PAGE_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/critical_path.h"
#include "libtrace/analysis/report.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/page_graph.h"

namespace acceltrace::view {

// A stretch of the path: the part of an event that lies on it.
struct PathStep {
  // What page/events.js calls the event: its names are in kPathEvents.
  enum Event : uint8_t { kNothing, kApi, kSubmit, kWake, kJob, kCommand };
  int64_t begin_ns = 0, end_ns = 0;  // host
  Event event = kNothing;
  uint32_t row = 0;  // of the model's table that the event is in
  std::string name;  // the op, or what the time was spent on
};

struct PagePath {
  analysis::CriticalPath sums;  // ops and layers with their running numbers folded
  std::vector<PathStep> steps;  // in order of time, none of length 0
  // What of a row lies on the path, for the tables' flags.
  enum JobPart : uint8_t { kSubmitPart = 1, kDevicePart = 2, kWakePart = 4 };
  std::vector<uint8_t> api, jobs, commands;
  // Of each command the one that it waited for last before it started; model::kNoRow: its own
  // fetch, or nobody knows.
  std::vector<uint32_t> after;
  PageGraph graph;  // empty where the path is not valid

  // {"valid", "error", "run_ns", "on_path", "events", "causes", ...}
  std::string Json() const;
};

PagePath ComputePagePath(const analysis::Report& report, const analysis::TracerWork& work);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_PATH_H_
