// SPDX-License-Identifier: Apache-2.0
//
// Finds when threads were off their CPUs. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_OFF_CPU_H_
#define LIBTRACE_ANALYSIS_ROWS_OFF_CPU_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// The times in which the kernel's scheduler had threads asleep or waiting. Times that are not known
// belong to neither.
class OffCpu {
 public:
  enum Kind : uint8_t {
    kAsleep,   // or blocked, or stopped
    kWaiting,  // for a CPU, while another thread had it
    kNumKinds
  };
  explicit OffCpu(const model::ThreadRuns& runs);

  struct Stretch {
    int64_t begin_ns, end_ns;
    int64_t before_ns;  // total length of the thread's earlier ones
    uint32_t woken_by;  // the thread that ended it; 0: an interrupt, or not known
  };

  int64_t Between(Kind kind, uint32_t tid, int64_t from_ns, int64_t to_ns) const;
  // Sorted by time and disjoint. Returns nullptr if nothing is known of the thread.
  const std::vector<Stretch>* Of(Kind kind, uint32_t tid) const;
  // Returns the time from which on the thread's states are known; INT64_MIN if they never are.
  int64_t Since(uint32_t tid) const {
    const auto since = since_ns_.find(tid);
    return since == since_ns_.end() ? INT64_MIN : since->second;
  }

 private:
  std::unordered_map<uint32_t, std::array<std::vector<Stretch>, kNumKinds>> threads_;
  std::unordered_map<uint32_t, int64_t> since_ns_;
};

// Finds when all threads of a set that have begun and not ended are asleep.
class CommonSleep {
 public:
  void AddThread(const Period& alive);
  // Belongs to the last added thread, and is cut to its lifetime.
  void AddSleep(Period asleep);
  // Sorted by time and disjoint.
  std::vector<Period> Take();

 private:
  struct Change {
    int64_t at_ns;
    int alive, asleep;
  };
  std::vector<Change> changes_;
  Period alive_ = {};
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_OFF_CPU_H_
