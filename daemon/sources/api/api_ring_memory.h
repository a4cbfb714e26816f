// SPDX-License-Identifier: Apache-2.0
//
// Taking a traced process's segment of rings: its memory, and the right to read it
// alone.
#ifndef DAEMON_SOURCES_API_API_RING_MEMORY_H_
#define DAEMON_SOURCES_API_API_RING_MEMORY_H_

#include <cstdint>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// What a process says of a segment of its own.
struct SegmentPlace {
  uint64_t address = 0, bytes = 0;  // address 0: there is none, bytes is an errno
};

struct SegmentMemory {
  Mapping mapping;
  UniqueFd lock;  // held by one tracer at a time; the kernel lets go when it dies
};

// The memory there, of the process that pidfd and its number name. Refused unless reading it can
// never fault or block: an anonymous shared mapping, whole, of a sane size, which no other tracer
// reads.
Result<SegmentMemory> TakeSegmentMemory(uint32_t pid, const UniqueFd& pidfd,
                                        const SegmentPlace& place);

// Segments that the process has made, by address; bounded.
std::vector<SegmentPlace> FindSegments(uint32_t pid);

// What the process's CLOCK_MONOTONIC is ahead of ours (time namespaces).
int64_t MonotonicOffsetNs(uint32_t pid);

// The process's number as it sees itself, 0 = cannot be read.
uint32_t InnermostPid(uint32_t pid);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RING_MEMORY_H_
