// SPDX-License-Identifier: Apache-2.0
//
// What a Perfetto trace says before its events: clocks, machine, processes, devices, tracks.
// Internal.
#ifndef LIBTRACE_VIEW_PERFETTO_HEAD_H_
#define LIBTRACE_VIEW_PERFETTO_HEAD_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/view/perfetto_packets.h"
#include "libtrace/view/timeline.h"

namespace acceltrace::view {

// Small, since each event has one; 0 is a viewer's own.
inline uint64_t PerfettoUuid(size_t track) { return track + 1; }
// Of the queue of a device that a track stands for, in the table gpu_slice.
inline uint64_t PerfettoQueueIid(size_t track) { return track + 1; }
// Of a device's context.
inline uint64_t PerfettoContextIid(uint32_t device, uint32_t context) {
  return (uint64_t{device} << 32 | context) + 1;
}

// first_ns: not after the first event, nor before 0. The time that the first packet's is since.
void WritePerfettoHead(const model::Model& model, const Timeline& timeline, int64_t first_ns,
                       PerfettoPackets* packets);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PERFETTO_HEAD_H_
