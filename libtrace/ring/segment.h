// SPDX-License-Identifier: Apache-2.0
//
// Allocates segments of rings. Internal.
#ifndef LIBTRACE_RING_SEGMENT_H_
#define LIBTRACE_RING_SEGMENT_H_

#include "libtrace/ring/format.h"
#include "libtrace/ring/writer.h"

namespace acceltrace::ring {

// A segment, as mapped in its own process.
struct Segment {
  SegmentHeader* header = nullptr;
  Layout layout;
  Writer* writers = nullptr;  // one per ring, in memory that is wiped on fork

  char* at(size_t offset) const { return reinterpret_cast<char*>(header) + offset; }
  ThreadRing* rings() const { return reinterpret_cast<ThreadRing*>(at(layout.threads_at())); }
  Slot* slots(uint32_t ring) const {
    return reinterpret_cast<Slot*>(at(layout.slots_at() + ring * layout.ring_bytes()));
  }
};

// Returns memory that a forked child sees as all zeros, or nullptr.
void* MapWipedOnFork(size_t bytes);

// Returns 0, or an errno value if the segment could not be made.
int MakeSegment(const Host& host, uint32_t index, Segment* segment);

// Faults in the pages now, so that writing events takes no page faults.
void Populate(void* address, size_t bytes);

// Returns CLOCK_MONOTONIC in ns.
uint64_t MonotonicNow();

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_SEGMENT_H_
