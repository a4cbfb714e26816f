// SPDX-License-Identifier: Apache-2.0
//
// When threads were off their CPUs of their own accord, by the kernel's scheduler. Internal.
#ifndef LIBTRACE_ANALYSIS_OFF_CPU_H_
#define LIBTRACE_ANALYSIS_OFF_CPU_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// Asleep, blocked or stopped; who waits for a CPU does not count, nor what is not known.
class OffCpu {
 public:
  explicit OffCpu(const model::ThreadRuns& runs);

  int64_t Between(uint32_t tid, int64_t from_ns, int64_t to_ns) const;

 private:
  struct Stretch {
    int64_t begin_ns, end_ns;
    int64_t before_ns;  // all earlier ones of the thread
  };
  std::unordered_map<uint32_t, std::vector<Stretch>> threads_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_OFF_CPU_H_
