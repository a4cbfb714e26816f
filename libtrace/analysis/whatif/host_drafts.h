// SPDX-License-Identifier: Apache-2.0
//
// Collects the points in time of host threads from which the graph is built. Internal.
#ifndef LIBTRACE_ANALYSIS_WHATIF_HOST_DRAFTS_H_
#define LIBTRACE_ANALYSIS_WHATIF_HOST_DRAFTS_H_

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "libtrace/analysis/rows/hand_offs.h"
#include "libtrace/analysis/rows/jobs_by_sequence.h"
#include "libtrace/analysis/whatif/graph_builder.h"

namespace acceltrace::analysis {

struct HostDraft {
  // In the order in which points at the same instant come.
  enum Kind : uint8_t { kBegin, kSubmit, kDoorbell, kSubmitEnd, kWait, kWake, kHandOff, kEnd };

  int64_t at_ns;
  uint32_t tid;
  Kind kind;
  bool of_new_call;
  uint32_t row;  // an API call, a job or a hand-off
  uint32_t cpu;
};

// Returns the threads that have jobs or wait for some.
std::unordered_set<uint32_t> ThreadsWithJobs(const model::Model& model);

// Sorted by thread and time.
std::vector<HostDraft> CollectDrafts(const model::Model& model, const GraphBuilder& builder,
                                     const std::unordered_set<uint32_t>& threads,
                                     const std::vector<HandOff>& hand_offs, JobsBySequence* jobs);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_WHATIF_HOST_DRAFTS_H_
