// SPDX-License-Identifier: Apache-2.0
//
// The points in time of the host's threads that the graph is made of. Internal.
#ifndef LIBTRACE_ANALYSIS_HOST_DRAFTS_H_
#define LIBTRACE_ANALYSIS_HOST_DRAFTS_H_

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "libtrace/analysis/graph_builder.h"
#include "libtrace/analysis/hand_offs.h"
#include "libtrace/analysis/jobs_by_sequence.h"

namespace acceltrace::analysis {

struct HostDraft {
  // In the order in which they come when they fall on the same instant.
  enum Kind : uint8_t { kBegin, kSubmit, kDoorbell, kSubmitEnd, kWait, kWake, kHandOff, kEnd };

  int64_t at_ns;
  uint32_t tid;
  Kind kind;
  bool of_new_call;
  uint32_t row;  // API call, job, or hand-off
  uint32_t cpu;
};

// Those that have jobs, or wait for some.
std::unordered_set<uint32_t> ThreadsWithJobs(const model::Model& model);

// By thread and time.
std::vector<HostDraft> CollectDrafts(const model::Model& model, const GraphBuilder& builder,
                                     const std::unordered_set<uint32_t>& threads,
                                     const std::vector<HandOff>& hand_offs, JobsBySequence* jobs);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_HOST_DRAFTS_H_
