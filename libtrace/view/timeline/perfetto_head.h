// SPDX-License-Identifier: Apache-2.0
//
// Writes the packets of a Perfetto trace that precede its events: clocks, machine, processes,
// devices, tracks. Internal.
#ifndef LIBTRACE_VIEW_TIMELINE_PERFETTO_HEAD_H_
#define LIBTRACE_VIEW_TIMELINE_PERFETTO_HEAD_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/view/timeline/perfetto_packets.h"
#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {

// Small numbers, since each event has one; 0 is reserved for the viewer.
inline uint64_t PerfettoUuid(size_t track) { return track + 1; }
// The number in gpu_slice of the device queue that a track represents.
inline uint64_t PerfettoQueueIid(size_t track) { return track + 1; }
// The number of a device's context.
inline uint64_t PerfettoContextIid(uint32_t device, uint32_t context) {
  return (uint64_t{device} << 32 | context) + 1;
}

// first_ns must not be negative or after the first event. The first packet's time is relative to
// it.
void WritePerfettoHead(const model::Model& model, const Timeline& timeline, int64_t first_ns,
                       PerfettoPackets* packets);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_PERFETTO_HEAD_H_
