// SPDX-License-Identifier: Apache-2.0
//
// Exports the timeline as Chrome trace events in JSON, for chrome://tracing, speedscope, catapult
// and other readers.
#ifndef LIBTRACE_VIEW_TIMELINE_CHROME_H_
#define LIBTRACE_VIEW_TIMELINE_CHROME_H_

#include "libtrace/model/tables/model.h"
#include "libtrace/view/common/export.h"

namespace acceltrace::view {

// Times are µs of the host's CLOCK_MONOTONIC with three decimals, so that no ns is lost. Each track
// of timeline.h becomes a thread; a device becomes a process with an unused pid.
Result<ExportStats> ExportChrome(const model::Model& model, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_CHROME_H_
