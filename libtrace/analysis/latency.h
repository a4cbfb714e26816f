// SPDX-License-Identifier: Apache-2.0
//
// How long does a job take, and in which hands is it?
//
//   API begin → submit → doorbell → (bus) → device doorbell → fetch → start → end
//   → completion write → interrupt sent → (bus) → handler → consumed → wake → API end
//
// A stage counts only jobs of which both of its ends were seen; the last two
// only jobs for which a thread was waiting when they completed: one that came
// later found its work done, and what it did before is no latency of the wake-up.
#ifndef LIBTRACE_ANALYSIS_LATENCY_H_
#define LIBTRACE_ANALYSIS_LATENCY_H_

#include <optional>
#include <string>
#include <vector>

#include "libtrace/analysis/durations.h"
#include "libtrace/analysis/span.h"
#include "libtrace/analysis/timeline.h"

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
  uint64_t whole = 0;    // jobs of which both sides were seen from submit to consumed
  uint64_t waits = 0;    // jobs that a thread asked for
  uint64_t blocked = 0;  // ... before they were complete
  std::vector<Stage> stages;
  // API begin to the driver's having consumed the completion, every whole job.
  Stats end_to_end;
  // API begin of the submitting call to API end of the call that waited.
  Stats until_returned;
};

Latency ComputeLatency(const model::Model& model);

// The stages of one job, in their order; nothing where an end was not seen.
struct JobStages {
  std::vector<std::optional<Span>> stages;
  std::optional<Span> end_to_end, until_returned;  // as in Latency
  bool whole = false, waited = false, blocked = false;
};
// times: of each device. Jobs are asked for in order, or nearly.
void StagesOfJob(JobTimelines* lines, const std::vector<Durations>& times, size_t job,
                 JobStages* stages);
// Their names, as in Stage.
std::vector<std::string> StageNames();

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_LATENCY_H_
