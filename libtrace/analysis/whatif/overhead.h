// SPDX-License-Identifier: Apache-2.0
//
// What did the tracer itself cost?
//
// There are two results, which need not agree: what the tracer did (events by kind and thread, the
// recorder's CPU time), and how much longer it made the run. The latter comes from replaying the
// run's graph without the tracer's work (whatif.h), since what the device did meanwhile is not
// lost.
#ifndef LIBTRACE_ANALYSIS_WHATIF_OVERHEAD_H_
#define LIBTRACE_ANALYSIS_WHATIF_OVERHEAD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/analysis/usage/breakdown.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

class Replays;

// The verdict mentions an overhead above this share of the run.
inline constexpr double kMuchOverhead = 0.05;

// The events of one kind.
struct EventKindCost {
  std::string kind;
  uint64_t events = 0;
  double each_ns = 0, each_error_ns = 0;
};

// The events of one thread.
struct ThreadCost {
  uint32_t tid = 0;
  uint64_t events = 0;
  Span time;
};

struct Overhead {
  // Other effects of the tracer, in either direction: it shifts when interrupts and the kernel's
  // own threads run, and evicts caches. Measured with and without the tracer in runs of 1 to 8 ms
  // (docs/benchmarks.md).
  static constexpr double IndirectNs(double run_ns) { return 10'000 + 0.004 * run_ns; }

  bool known = false;
  uint64_t cpu_ns = 0;  // the daemon's own CPU time
  uint64_t probe_ns =
      0;  // time in probes, on the traced threads and in interrupts; 0 = not measured
  uint64_t probe_runs = 0;
  uint64_t bytes_written = 0;
  uint64_t rows = 0;  // in all tables
  int64_t recorded_ns = 0;
  double cpu_share = 0;    // of one CPU, over the recording
  double probe_share = 0;  // likewise
  double bytes_per_row = 0;

  // The fields below are only set if the recorder calibrated the cost of its events.
  bool calibrated = false;
  std::vector<EventKindCost> kinds;
  std::vector<ThreadCost> threads;  // sorted by cost, the largest first
  // Costs within the run:
  Span events;    // on the traced threads and in interrupts
  Span recorder;  // the daemon's work, including wake-ups
  uint64_t wakes = 0;
  // How much longer the run is. If no device has records, the bounds are 0 and all of the cost.
  // They are widened by IndirectNs(), so lo_ns may be negative.
  Span run;
  double share = 0;  // of the run
  // How much shorter each of the host's classes would be; 0 for those of the device.
  std::array<Span, kNumClasses> in_class{};
  std::string advice;  // what to stop recording; empty unless the share is above kMuchOverhead
};

// `replays` must be of the graph of the breakdown's run, including the tracer's work. It is only
// used if that work is known.
Overhead ComputeOverhead(const model::Model& model, const Breakdown& breakdown,
                         const TracerWork& work, const std::function<Replays*()>& replays);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_OVERHEAD_H_
