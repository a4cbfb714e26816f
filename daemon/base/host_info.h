// SPDX-License-Identifier: Apache-2.0
//
// What the recording machine is.
#ifndef DAEMON_BASE_HOST_INFO_H_
#define DAEMON_BASE_HOST_INFO_H_

#include <time.h>

#include <cstdint>
#include <string>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// Here, so that whoever gives way (daemon/base/give_way.h) need not link the rest.
inline int64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CPU time of the process with all its threads, or of the calling thread, ns.
uint64_t ProcessCpuNs();
uint64_t ThreadCpuNs();
// Of another thread of this process, 0 if there is none.
uint64_t ThreadCpuNs(int tid);

// Host, kernel, CPU, clocks and start time; not the probes and the command.
proto::TraceInfo DescribeHost();

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_HOST_INFO_H_
