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
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "libtrace/analysis/durations.h"
#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

// By rank: of what is true at once the first one counts.
enum Doing { kDoesCompute, kDoesTransfer, kDoesHold, kNumDoings };

// From the begin of something to its end.
using MarkPair = std::pair<Mark, Mark>;

// Where such a time is: a command's start or end, a job's doorbell or completion.
struct TimeRef {
  uint32_t row = 0;
  bool of_job = false;
};
struct Stretch {
  TimeRef from, to;
};
MarkPair PeriodOf(const model::Model& model, const Stretch& stretch);

struct Gaps {
  // Those that whole ticks show; count_hi: with those that may hide within one.
  uint64_t count = 0, count_hi = 0;
  Amount total, longest;
};

struct Activity {
  std::array<std::vector<uint32_t>, kNumDoings> rows;  // of commands; of jobs where it holds them

  bool any = false;
  bool measured = false;  // else the times below are not known
  std::array<Amount, kNumDoings> time;
  Amount overlap;  // transfers and computing at once
  Gaps gaps;       // nothing ran, between the first start and the last end
};

// By device: the rows, without what they come to.
std::vector<Activity> FindActivity(const model::Model& model);
// With all of it. gaps: one by one as well, which takes the longest.
std::vector<Activity> ComputeActivity(const model::Model& model, bool gaps);

// What the device does of these, in order of time, as few longer stretches: what overlaps or
// touches is one. *touches: how often nothing may have been in between, for less than a tick.
std::vector<Stretch> Merged(const model::Model& model, const Activity& activity,
                            std::initializer_list<Doing> doings, uint64_t* touches);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ACTIVITY_H_
