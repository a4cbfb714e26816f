// SPDX-License-Identifier: Apache-2.0
//
// Which thread let which go on, by the kernel's scheduler: a lock given back, a request put into a
// queue, a byte written to a pipe. Internal.
#ifndef LIBTRACE_ANALYSIS_HAND_OFFS_H_
#define LIBTRACE_ANALYSIS_HAND_OFFS_H_

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libtrace/analysis/off_cpu.h"

namespace acceltrace::analysis {

struct HandOff {
  int64_t at_ns;
  uint32_t from, to;  // threads
  int64_t asleep_ns;  // for so long the second one had slept
};

class HandOffs {
 public:
  // To threads, and to those that let them go on, and so forth: these are added. In order of
  // (to, at_ns).
  HandOffs(const OffCpu& off_cpu, std::unordered_set<uint32_t>* threads);

  const std::vector<HandOff>& all() const { return all_; }
  // Those to a thread in (from_ns, to_ns]: from the first one of all() to before the second.
  std::pair<uint32_t, uint32_t> Between(uint32_t to, int64_t from_ns, int64_t to_ns) const;

 private:
  std::vector<HandOff> all_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_HAND_OFFS_H_
