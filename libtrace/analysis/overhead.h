// SPDX-License-Identifier: Apache-2.0
//
// What did the tracer itself cost? Room: libtrace/analysis.
#ifndef LIBTRACE_ANALYSIS_OVERHEAD_H_
#define LIBTRACE_ANALYSIS_OVERHEAD_H_

#include <cstdint>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

struct Overhead {
  bool known = false;
  uint64_t cpu_ns = 0;  // the daemon's own CPU time
  uint64_t probe_ns =
      0;  // time in probes, on the traced threads and in interrupts; 0 = not measured
  uint64_t probe_runs = 0;
  uint64_t bytes_written = 0;
  uint64_t rows = 0;  // of all tables
  int64_t recorded_ns = 0;
  double cpu_share = 0;    // of one CPU over the recording
  double probe_share = 0;  // likewise
  double bytes_per_row = 0;
};

Overhead ComputeOverhead(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_OVERHEAD_H_
