// SPDX-License-Identifier: Apache-2.0
//
// The facts that decide how far a trace can be trusted: findings.h names what contradicts or
// limits it, and a verdict rests on nothing else.
#ifndef LIBTRACE_ANALYSIS_CHECKS_EVIDENCE_H_
#define LIBTRACE_ANALYSIS_CHECKS_EVIDENCE_H_

#include <cstdint>
#include <vector>

#include "libtrace/analysis/checks/causality.h"
#include "libtrace/analysis/checks/clock_quality.h"
#include "libtrace/analysis/checks/conservation.h"
#include "libtrace/analysis/checks/losses.h"
#include "libtrace/analysis/usage/breakdown.h"

namespace acceltrace::analysis {

// The number of things in the trace.
struct Counts {
  uint64_t api_calls = 0, api_failed = 0, api_open = 0;
  uint64_t ranges = 0, marks = 0, host_events = 0;
  uint64_t jobs = 0, jobs_failed = 0, commands = 0, commands_failed = 0;
  uint64_t counter_samples = 0, clock_samples = 0, device_events = 0;
};
Counts ComputeCounts(const model::Model& model);

struct Evidence {
  const model::Model* model = nullptr;  // must outlive this
  Counts counts;
  Losses losses;
  std::vector<Law> laws;
  Causality causality;
  std::vector<uint64_t> overlaps;  // DeviceUse::overlapping_commands of each device
  std::vector<ClockQuality> clocks;
  std::vector<ClockEdge> clock_edges;
  Breakdown breakdown;  // left empty by CollectEvidence()
};

enum class Overlaps { kCount, kLeave };

// Computes all but the breakdown. laws: those of the whole trace if the model is a part of it
// (model/part/select.h); nullptr to compute them. overlaps: kLeave if the caller counts them.
void CollectEvidence(const model::Model& model, const std::vector<Law>* laws, Overlaps overlaps,
                     ClockParts clocks, Evidence* evidence);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_EVIDENCE_H_
