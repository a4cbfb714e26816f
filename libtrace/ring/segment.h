// SPDX-License-Identifier: Apache-2.0
//
// Making a segment of rings. Internal.
#ifndef LIBTRACE_RING_SEGMENT_H_
#define LIBTRACE_RING_SEGMENT_H_

#include "libtrace/ring/format.h"
#include "libtrace/ring/writer.h"

namespace acceltrace::ring {

// A segment as its process has it mapped.
struct Segment {
  SegmentHeader* header = nullptr;
  Layout layout;
  Writer* writers = nullptr;  // one for each ring, in memory that fork wipes

  char* at(size_t offset) const { return reinterpret_cast<char*>(header) + offset; }
  ThreadRing* rings() const { return reinterpret_cast<ThreadRing*>(at(layout.threads_at())); }
  Slot* slots(uint32_t ring) const {
    return reinterpret_cast<Slot*>(at(layout.slots_at() + ring * layout.ring_bytes()));
  }
};

// Memory that is all zero again in a forked child, or nullptr.
void* MapWipedOnFork(size_t bytes);

// 0, or an errno with nothing made.
int MakeSegment(const Host& host, uint32_t index, Segment* segment);

// No page fault later.
void Populate(void* address, size_t bytes);

// CLOCK_MONOTONIC, ns.
uint64_t MonotonicNow();

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_SEGMENT_H_
