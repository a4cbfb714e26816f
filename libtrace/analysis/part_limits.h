// SPDX-License-Identifier: Apache-2.0
//
// What limits each part of a run: its ranges and its ops?
//
// As for the run (limiter.h): the resource that gains most when it is Limiter::kStep times as fast,
// in replays of the whole run without the tracer. What is looked at is the part's time:
//
//   range  from its begin, or from where the range before it at the same depth of its thread was
//          finished if that is later, until it is finished: it has ended, and so have the jobs that
//          were submitted inside. Times of ranges that follow each other add up to the run's, also
//          where work goes on while the next one is submitted.
//   op     start to end of its commands.
//   phase  (phases.h) from where the phase before was finished until its last job is.
#ifndef LIBTRACE_ANALYSIS_PART_LIMITS_H_
#define LIBTRACE_ANALYSIS_PART_LIMITS_H_

#include <cstdint>
#include <vector>

#include "libtrace/analysis/ops.h"
#include "libtrace/analysis/phases.h"
#include "libtrace/analysis/ranges.h"
#include "libtrace/analysis/resources.h"

namespace acceltrace::analysis {

class Replays;

struct PartLimit {
  struct Gain {
    Resource resource = kNumResources;  // none: nothing gains worth a word
    double share = 0;                   // of the part's time
  };
  double ns = 0;       // all of it, in the replay without the tracer
  Gain first, second;  // what gains most, and next
  // Limiter::kClose: both are named.
  bool several() const;
};

// By position in the lists that they were made for; empty where the trace contradicts itself.
struct PartLimits {
  std::vector<PartLimit> ranges, range_groups, ops, op_groups, phases;
};

// The lists: of names, and of groups of names.
struct PartLists {
  const std::vector<RangeUse>& ranges;
  const std::vector<RangeUse>& range_groups;
  // By row of the model's ranges, where in the lists it is: ComputeRanges().
  const std::vector<uint32_t>& range_of;
  const std::vector<uint32_t>& range_group_of;
  const Ops& ops;
  const Phases& phases;
};

PartLimits ComputePartLimits(const model::Model& model, const PartLists& lists, Replays* replays);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_PART_LIMITS_H_
