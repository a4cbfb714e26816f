// SPDX-License-Identifier: Apache-2.0
//
// What did one device do, on its own clock?
//
// How long a device computed, transferred, held jobs or did nothing depends on its clock's rate
// and on whole ticks alone: where all of its times are of one epoch it is measured here, without
// the offset to the host.
#ifndef LIBTRACE_ANALYSIS_ACTIVITY_H_
#define LIBTRACE_ANALYSIS_ACTIVITY_H_

#include <array>
#include <utility>
#include <vector>

#include "libtrace/analysis/durations.h"
#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

// By rank: of what is true at once the first one counts.
enum Doing { kDoesCompute, kDoesTransfer, kDoesHold, kNumDoings };

// From the begin of something to its end.
using Period = std::pair<Mark, Mark>;

struct Gaps {
  // Those that whole ticks show; count_hi: with those that may hide within one.
  uint64_t count = 0, count_hi = 0;
  Amount total, longest;
};

struct Activity {
  std::array<std::vector<Period>, kNumDoings> periods;  // each command, each job

  bool any = false;
  bool measured = false;  // else the times below are not known
  std::array<Amount, kNumDoings> time;
  Amount overlap;  // transfers and computing at once
  Gaps gaps;       // nothing ran, between the first start and the last end
};

// By device: the periods, without what they come to.
std::vector<Activity> FindActivity(const model::Model& model);
// With all of it.
std::vector<Activity> ComputeActivity(const model::Model& model);

// Periods as few longer ones: what overlaps or touches is one. *touches: how often nothing may
// have been in between, for less than a tick.
std::vector<Period> Merged(std::vector<Period> periods, uint64_t* touches);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ACTIVITY_H_
