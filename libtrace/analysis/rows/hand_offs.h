// SPDX-License-Identifier: Apache-2.0
//
// Finds which thread let which other one continue, according to the kernel's scheduler: by
// releasing a lock, queueing a request or writing to a pipe, for instance. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_HAND_OFFS_H_
#define LIBTRACE_ANALYSIS_ROWS_HAND_OFFS_H_

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libtrace/analysis/rows/off_cpu.h"

namespace acceltrace::analysis {

struct HandOff {
  int64_t at_ns;
  uint32_t from, to;  // threads
  int64_t asleep_ns;  // how long the second one had been asleep
};

class HandOffs {
 public:
  // Finds hand-offs to these threads and, recursively, to those that let them continue, which are
  // added to *threads. Sorted by (to, at_ns).
  HandOffs(const OffCpu& off_cpu, std::unordered_set<uint32_t>* threads);

  const std::vector<HandOff>& all() const { return all_; }
  // Returns the range of indexes in all() of the hand-offs to a thread in (from_ns, to_ns].
  std::pair<uint32_t, uint32_t> Between(uint32_t to, int64_t from_ns, int64_t to_ns) const;

 private:
  std::vector<HandOff> all_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_HAND_OFFS_H_
