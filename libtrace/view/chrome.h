// SPDX-License-Identifier: Apache-2.0
//
// The timeline as Chrome's trace events in JSON: chrome://tracing, speedscope, catapult and what
// else reads them.
#ifndef LIBTRACE_VIEW_CHROME_H_
#define LIBTRACE_VIEW_CHROME_H_

#include "libtrace/model/model.h"
#include "libtrace/view/export.h"

namespace acceltrace::view {

// Times are µs of the host's CLOCK_MONOTONIC with three decimals, so that no ns is lost. What is
// one track in timeline.h is one thread here; a device is a process whose pid no process has.
Result<ExportStats> ExportChrome(const model::Model& model, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_CHROME_H_
