// SPDX-License-Identifier: Apache-2.0
//
// Taking a traced process's segment of rings: its memory, and the right to read it
// alone.
#ifndef DAEMON_SOURCES_API_RING_MEMORY_H_
#define DAEMON_SOURCES_API_RING_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "daemon/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

struct SegmentMemory {
  Mapping mapping;
  UniqueFd lock;  // held by one tracer at a time; the kernel lets go when it dies
  dev_t device = 0;
  ino_t inode = 0;
};

// The file behind descriptor `fd` of the process. Refused unless reading it can never
// fault or block: a sealed memfd of a sane size, which no other tracer reads.
Result<SegmentMemory> TakeSegmentMemory(const UniqueFd& pidfd, int fd);

// Descriptors of the process that look like segments, lowest first; bounded.
std::vector<int> FindSegments(uint32_t pid);

// What the process's CLOCK_MONOTONIC is ahead of ours (time namespaces).
int64_t MonotonicOffsetNs(uint32_t pid);

// The process's number as it sees itself, 0 = cannot be read.
uint32_t InnermostPid(uint32_t pid);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_RING_MEMORY_H_
