// SPDX-License-Identifier: Apache-2.0
//
// How long would the run have taken without the tracer?
//
// Work of the tracer delays the thread that it happens on (where there is one CPU, all of
// them), but not always the run: a thread that waits for the device may have had the time.
// So the run is played again, event by event, with that work taken out:
//   - a thread arrives earlier by all of the work since the last thing that it waited for;
//   - a job starts when its doorbell has come and the device is free for it, whichever is
//     later, and takes as long as it took;
//   - a thread that waits goes on when it has come to wait and its job is complete.
// Each point of time moves by a shift; the last one's is what the tracer cost.
#ifndef LIBTRACE_ANALYSIS_REPLAY_H_
#define LIBTRACE_ANALYSIS_REPLAY_H_

#include "libtrace/analysis/breakdown.h"
#include "libtrace/analysis/tracer_work.h"

namespace acceltrace::analysis {

// By how many ns the run between begin_ns and end_ns would have been shorter.
double ReplayWithout(const model::Model& model, const TracerWork& work, Estimate estimate,
                     int64_t begin_ns, int64_t end_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPLAY_H_
