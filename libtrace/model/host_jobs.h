// SPDX-License-Identifier: Apache-2.0
//
// What the host's events say of each job. Internal: the clock's fit needs it before the jobs are
// joined.
#ifndef LIBTRACE_MODEL_HOST_JOBS_H_
#define LIBTRACE_MODEL_HOST_JOBS_H_

#include <cstdint>
#include <unordered_map>

#include "libtrace/model/model.h"

namespace acceltrace::model {

// Times as in Jobs.
struct HostJob {
  bool submitted = false;
  uint32_t context = 0, queue = 0, pid = 0, tid = 0, commands = 0, status = 0;
  uint64_t sequence = 0, correlation = 0, copy_bytes = 0, wait_correlation = 0;
  int64_t submit_ns = kNoTime, doorbell_ns = kNoTime, submit_end_ns = kNoTime;
  int64_t irq_ns = kNoTime, complete_ns = kNoTime, wait_ns = kNoTime, wake_ns = kNoTime;
};

inline uint64_t JobKey(uint32_t device, uint32_t job) {
  return (static_cast<uint64_t>(device) << 32) | job;
}

using HostJobs = std::unordered_map<uint64_t, HostJob>;  // by JobKey

// host is sorted by time.
HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_HOST_JOBS_H_
