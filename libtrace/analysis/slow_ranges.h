// SPDX-License-Identifier: Apache-2.0
//
// What do the slow ones among ranges of one name have that the others have not?
//
// The slow ones are the slowest twentieth; they are compared with those that took no longer than
// the median. A range owns the calls that its thread made in it and the commands of their jobs.
#ifndef LIBTRACE_ANALYSIS_SLOW_RANGES_H_
#define LIBTRACE_ANALYSIS_SLOW_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// Of a range on average: of the slow ones, and of the usual ones.
struct SlowRangePart {
  std::string name;  // an API call, what the thread did between calls, an op
  double ns = 0, usual_ns = 0;
  double count = 0, usual_count = 0;
  double bytes = 0, usual_bytes = 0;  // of an op that copies

  double MoreNs() const { return ns - usual_ns; }
};

struct SlowRanges {
  // Fewer have no slow ones; and those are slow that take so many times as long as is usual.
  static constexpr size_t kFewest = 20;
  static constexpr double kSlow = 1.2;
  static constexpr size_t kMostParts = 4;

  std::string name;  // with running numbers folded (names.h)
  uint64_t count = 0, slow = 0;
  int64_t median_ns = 0;
  int64_t slow_ns = 0;  // the slow ones take so long at least
  int64_t longest_ns = 0;
  // What the slow ones have more of, the most first: of the host these add up to what they take
  // longer; of the device the host need not have waited for it.
  std::vector<SlowRangePart> host, device;
};

// By name, those first whose slow ones cost most in all.
std::vector<SlowRanges> FindSlowRanges(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_SLOW_RANGES_H_
