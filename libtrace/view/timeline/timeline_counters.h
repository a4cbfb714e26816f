// SPDX-License-Identifier: Apache-2.0
//
// Adds the tracks of a timeline that are lines: counters, and jobs in flight. Internal.
#ifndef LIBTRACE_VIEW_TIMELINE_TIMELINE_COUNTERS_H_
#define LIBTRACE_VIEW_TIMELINE_TIMELINE_COUNTERS_H_

#include <cstdint>

#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {

// Adds below the device's track its jobs in flight, and a group of its counters.
void AddDeviceCounters(const model::Model& model, uint32_t device, int parent, Timeline* timeline);
// Adds the kernel's counters below a track of their own with this `pid`.
void AddSystemCounters(const model::Model& model, int32_t pid, Timeline* timeline);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_TIMELINE_COUNTERS_H_
