// SPDX-License-Identifier: Apache-2.0
//
// When threads were off their CPUs. Internal.
#ifndef LIBTRACE_ANALYSIS_OFF_CPU_H_
#define LIBTRACE_ANALYSIS_OFF_CPU_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/analysis/tracer_work.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// By the kernel's scheduler. What is not known of a thread is neither.
class OffCpu {
 public:
  enum Kind : uint8_t {
    kAsleep,   // or blocked, or stopped
    kWaiting,  // for a CPU, which another thread had
    kNumKinds
  };
  explicit OffCpu(const model::ThreadRuns& runs);

  struct Stretch {
    int64_t begin_ns, end_ns;
    int64_t before_ns;  // all earlier ones of the thread
    uint32_t woken_by;  // the thread that ended it; 0: an interrupt, or not known
  };

  int64_t Between(Kind kind, uint32_t tid, int64_t from_ns, int64_t to_ns) const;
  // In order of time, disjoint; nullptr: nothing is known of the thread.
  const std::vector<Stretch>* Of(Kind kind, uint32_t tid) const;
  // From when on something is; INT64_MIN: nothing is at any time.
  int64_t Since(uint32_t tid) const {
    const auto since = since_ns_.find(tid);
    return since == since_ns_.end() ? INT64_MIN : since->second;
  }

 private:
  std::unordered_map<uint32_t, std::array<std::vector<Stretch>, kNumKinds>> threads_;
  std::unordered_map<uint32_t, int64_t> since_ns_;
};

// When all of some threads sleep that have begun and not ended.
class CommonSleep {
 public:
  void AddThread(const Period& alive);
  // Of the thread that was added last; what lies outside of its life does not count.
  void AddSleep(Period asleep);
  // In order of time, disjoint.
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

#endif  // LIBTRACE_ANALYSIS_OFF_CPU_H_
