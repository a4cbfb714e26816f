// SPDX-License-Identifier: Apache-2.0
//
// What did one device do, on its own clock?
//
// How long a device computed, transferred data, held jobs or did nothing only depends on the rate
// of its clock and on whole ticks. If all of its times have the same epoch, this is measured here
// without the uncertain offset to the host.
#ifndef LIBTRACE_ANALYSIS_USAGE_ACTIVITY_H_
#define LIBTRACE_ANALYSIS_USAGE_ACTIVITY_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

// In order of rank: of several that are true at the same time, the first one counts.
enum Doing { kDoesCompute, kDoesTransfer, kDoesHold, kNumDoings };

// The begin and the end of something.
using MarkPair = std::pair<Mark, Mark>;

// Identifies a device time: a command's start or end, or a job's doorbell or completion.
struct TimeRef {
  uint32_t row = 0;
  bool of_job = false;
};
struct Stretch {
  TimeRef from, to;
};
MarkPair PeriodOf(const model::Model& model, const Stretch& stretch);

struct Gaps {
  // The gaps that whole ticks show; count_hi also has those that may be hidden within a tick.
  uint64_t count = 0, count_hi = 0;
  Amount total, longest;
};

struct Activity {
  std::array<std::vector<uint32_t>, kNumDoings> rows;  // of commands, or of jobs for kDoesHold

  bool any = false;
  bool measured = false;  // if false, the times below are not known
  std::array<Amount, kNumDoings> time;
  Amount overlap;  // time with transfers and computing at once
  Gaps gaps;       // times without commands between the first start and the last end
};

// Returns the rows for each device, but not the times that they add up to.
std::vector<Activity> FindActivity(const model::Model& model);
// Also computes the times. `gaps` selects whether gaps are listed one by one, which takes most of
// the time.
std::vector<Activity> ComputeActivity(const model::Model& model, bool gaps);

// Merges what the device does of these kinds to as few intervals as possible, in order of time:
// those that overlap or touch become one. *touches counts the places where there may have been a
// pause of less than a tick.
std::vector<Stretch> Merged(const model::Model& model, const Activity& activity,
                            std::initializer_list<Doing> doings, uint64_t* touches);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_ACTIVITY_H_
