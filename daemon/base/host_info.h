// SPDX-License-Identifier: Apache-2.0
//
// Describes the recording machine.
#ifndef DAEMON_BASE_HOST_INFO_H_
#define DAEMON_BASE_HOST_INFO_H_

#include <time.h>

#include <cstdint>
#include <string>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// Defined here so that users of daemon/base/give_way.h need not link the rest.
inline int64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CPU time of the process with all its threads, or of the calling thread, in ns.
uint64_t ProcessCpuNs();
uint64_t ThreadCpuNs();
// CPU time of another thread of this process, or 0 if there is no such thread.
uint64_t ThreadCpuNs(int tid);

// Describes host, kernel, CPU, clocks and start time, but not the probes and the command.
proto::TraceInfo DescribeHost();

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_HOST_INFO_H_
