// SPDX-License-Identifier: Apache-2.0
//
// The points that every job passes, in the order in which it must. Latency measures between them,
// causality checks their order.
#ifndef LIBTRACE_ANALYSIS_TIMELINE_H_
#define LIBTRACE_ANALYSIS_TIMELINE_H_

#include <array>

#include "libtrace/analysis/durations.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

enum Point {
  kApiBegin,        // host: the call that submitted the job
  kSubmit,          // host: submit ioctl entered
  kDoorbell,        // host: about to write the doorbell
  kDeviceDoorbell,  // device: doorbell arrived
  kFetched,         // device: first command fetched
  kStart,           // device: first command began to run
  kEnd,             // device: last command done
  kCompletion,      // device: completion entry written
  kDeviceIrq,       // device: interrupt sent
  kIrq,             // host: handler ran
  kConsumed,        // host: driver consumed the completion entry
  kWake,            // host: the thread that waited goes on
  kApiEnd,          // host: the call that waited returns
  kNumPoints
};

// Stable names for JSON and messages.
const char* PointName(Point point);
inline bool IsDevicePoint(Point point) { return point >= kDeviceDoorbell && point <= kDeviceIrq; }

struct Timeline {
  std::array<bool, kNumPoints> seen{};
  std::array<model::Interval, kNumPoints> at{};
  std::array<uint64_t, kNumPoints> ticks{};  // device points only
  std::array<uint32_t, kNumPoints> epoch{};  // likewise: of which count they are
  std::array<Mark, kNumPoints> mark{};       // likewise
};

// job: row in model.jobs.
Timeline JobTimeline(const model::Model& model, size_t job);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_TIMELINE_H_
