// SPDX-License-Identifier: Apache-2.0
//
// What do slow ranges have in common that other ranges of the same name do not have?
//
// The slowest twentieth is compared with those that took no longer than the median. A range owns
// the calls that its thread made in it and the commands of their jobs.
#ifndef LIBTRACE_ANALYSIS_USAGE_SLOW_RANGES_H_
#define LIBTRACE_ANALYSIS_USAGE_SLOW_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// Averages per range, over the slow ones and over the usual ones.
struct SlowRangePart {
  std::string name;  // an API call, the thread's time between calls, or an op
  double ns = 0, usual_ns = 0;
  double count = 0, usual_count = 0;
  double bytes = 0, usual_bytes = 0;  // for an op that copies

  double MoreNs() const { return ns - usual_ns; }
};

struct SlowRanges {
  // Smaller groups are not examined, and slow ranges must take this many times as long as usual.
  static constexpr size_t kFewest = 20;
  static constexpr double kSlow = 1.2;
  static constexpr size_t kMostParts = 4;

  std::string name;  // with running numbers folded (names.h)
  uint64_t count = 0, slow = 0;
  int64_t median_ns = 0;
  int64_t slow_ns = 0;  // the slow ones take at least this long
  int64_t longest_ns = 0;
  // What the slow ones have more of, the largest first. The host's parts add up to their additional
  // time; the host need not have waited for the device's.
  std::vector<SlowRangePart> host, device;
};

// Grouped by name; the groups whose slow ones cost most in total come first.
std::vector<SlowRanges> FindSlowRanges(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_SLOW_RANGES_H_
