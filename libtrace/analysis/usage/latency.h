// SPDX-License-Identifier: Apache-2.0
//
// How long does a job take, and where does it spend that time?
//
//   API begin → submit → doorbell → (bus) → device doorbell → fetch → start → end
//   → completion write → interrupt sent → (bus) → handler → consumed → wake → API end
//
// A stage only counts jobs for which both of its ends were recorded. The last two stages only count
// jobs for which a thread was waiting when they completed: if it came later, the work was already
// done, and what it did before is not part of the wake-up latency.
#ifndef LIBTRACE_ANALYSIS_USAGE_LATENCY_H_
#define LIBTRACE_ANALYSIS_USAGE_LATENCY_H_

#include <optional>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/span.h"
#include "libtrace/analysis/rows/timeline.h"

namespace acceltrace::analysis {

enum class Where { kHost, kBus, kDevice };

struct Stage {
  const char* name = "";  // stable, for JSON: api_to_submit, ...
  const char* text = "";  // for people
  Where where = Where::kHost;
  Stats stats;
};

struct Latency {
  uint64_t jobs = 0;
  uint64_t whole = 0;    // jobs that both sides recorded from submit to consumed
  uint64_t waits = 0;    // jobs for which a thread waited
  uint64_t blocked = 0;  // of these, those that were not complete yet
  std::vector<Stage> stages;
  // From the API begin until the driver has consumed the completion, for every whole job.
  Stats end_to_end;
  // From the begin of the API call that submitted to the end of the one that waited.
  Stats until_returned;
};

Latency ComputeLatency(const model::Model& model);

// The stages of one job, in order; empty if an end was not recorded.
struct JobStages {
  std::vector<std::optional<Span>> stages;
  std::optional<Span> end_to_end, until_returned;  // as in Latency
  bool whole = false, waited = false, blocked = false;
};
// `times` has one element per device. Jobs should be requested roughly in order.
void StagesOfJob(JobTimelines* lines, const std::vector<Durations>& times, size_t job,
                 JobStages* stages);
// Returns their names, as in Stage.
std::vector<std::string> StageNames();

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_LATENCY_H_
