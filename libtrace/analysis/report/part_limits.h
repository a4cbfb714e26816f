// SPDX-License-Identifier: Apache-2.0
//
// What limits each part of a run: its ranges, ops and phases?
//
// As for the run (limiter.h), it is the resource that gains most when it is Limiter::kStep times as
// fast, in replays of the whole run without the tracer. Here, the gain is that of the part's time:
//
//   range  from its begin, or from when the previous range of the same thread and depth was
//          finished if that is later, until it is finished: until it has ended and the jobs
//          submitted in it have completed. The times of successive ranges add up to the run's
//          even if work continues while the next one is submitted.
//   op     start to end of its commands.
//   phase  (phases.h) from when the previous phase was finished until its last job is.
#ifndef LIBTRACE_ANALYSIS_REPORT_PART_LIMITS_H_
#define LIBTRACE_ANALYSIS_REPORT_PART_LIMITS_H_

#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/resources.h"
#include "libtrace/analysis/usage/ops.h"
#include "libtrace/analysis/usage/phases.h"
#include "libtrace/analysis/usage/ranges.h"

namespace acceltrace::analysis {

class Replays;

struct PartLimit {
  struct Gain {
    Resource resource = kNumResources;  // kNumResources if no gain is worth reporting
    double share = 0;                   // of the part's time
  };
  double ns = 0;       // the part's whole time in the replay without the tracer
  Gain first, second;  // the largest gain and the next one
  // Both are named if they differ by less than Limiter::kClose.
  bool several() const;
};

// By position in the lists for which they were computed; empty if the trace contradicts itself.
struct PartLimits {
  std::vector<PartLimit> ranges, range_groups, ops, op_groups, phases;
};

// The lists by name and by group of names.
struct PartLists {
  const std::vector<RangeUse>& ranges;
  const std::vector<RangeUse>& range_groups;
  // For each row of the model's ranges, its position in the lists, from ComputeRanges().
  const std::vector<uint32_t>& range_of;
  const std::vector<uint32_t>& range_group_of;
  const Ops& ops;
  const Phases& phases;
};

PartLimits ComputePartLimits(const model::Model& model, const PartLists& lists, Replays* replays);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_PART_LIMITS_H_
