// SPDX-License-Identifier: Apache-2.0
//
// Maps a traced process's segment of rings, with the exclusive right to read it.
#ifndef DAEMON_SOURCES_API_API_RING_MEMORY_H_
#define DAEMON_SOURCES_API_API_RING_MEMORY_H_

#include <cstdint>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// The place of a segment, as the process reports it.
struct SegmentPlace {
  uint64_t address = 0, bytes = 0;  // if address is 0, there is no segment, and bytes is an errno
};

struct SegmentMemory {
  Mapping mapping;
  UniqueFd lock;  // held by one tracer at a time; released by the kernel if it dies
};

// Maps the memory at that place in the process that `pidfd` and `pid` refer to. Fails unless
// reading it can never fault or block: it must be a whole anonymous shared mapping of a plausible
// size that no other tracer reads.
Result<SegmentMemory> TakeSegmentMemory(uint32_t pid, const UniqueFd& pidfd,
                                        const SegmentPlace& place);

// Returns the segments that the process has made, by address; their number is bounded.
std::vector<SegmentPlace> FindSegments(uint32_t pid);

// Returns how far the process's CLOCK_MONOTONIC is ahead of ours (time namespaces).
int64_t MonotonicOffsetNs(uint32_t pid);

// Returns the process's pid in its own namespace, or 0 if it cannot be read.
uint32_t InnermostPid(uint32_t pid);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RING_MEMORY_H_
