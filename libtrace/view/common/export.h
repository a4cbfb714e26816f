// SPDX-License-Identifier: Apache-2.0
//
// Exports traces for other tools, with one function for each format. All of them write to a Sink.
#ifndef LIBTRACE_VIEW_COMMON_EXPORT_H_
#define LIBTRACE_VIEW_COMMON_EXPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::view {

// Receives bytes in order; an error ends the export.
using Sink = std::function<Status(std::string_view bytes)>;

// Counts of the export, including what the format could not represent, for a warning.
struct ExportStats {
  uint64_t slices = 0, instants = 0, counter_values = 0, flows = 0, tracks = 0;
  uint64_t skipped = 0;  // events with negative host times, which are damaged
};

// Writes Perfetto's binary format for ui.perfetto.dev: processes and threads with API calls, ranges
// and driver calls; queues, execution units, interrupts and counters for each device; arrows from
// each API call through its submission and its job to the commands, and back to the thread that
// waited.
Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_EXPORT_H_
