// SPDX-License-Identifier: Apache-2.0
//
// The points that every job passes, in their necessary order. Latency measures between them,
// causality checks their order.
#ifndef LIBTRACE_ANALYSIS_ROWS_TIMELINE_H_
#define LIBTRACE_ANALYSIS_ROWS_TIMELINE_H_

#include <array>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/model/tables/model.h"

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
  kWake,            // host: the waiting thread continues
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
  std::array<uint32_t, kNumPoints> epoch{};  // device points only: the count they belong to
  std::array<Mark, kNumPoints> mark{};       // device points only
};

// Builds the timelines of jobs. Takes some hundred KB, so it must not be on the stack.
class JobTimelines {
 public:
  explicit JobTimelines(const model::Model& model);
  JobTimelines(JobTimelines&&) = delete;  // too large to move

  // `job` is a row in model.jobs. The result is valid until the next call.
  const Timeline& Of(size_t job);
  const model::Model& model() const { return model_; }

 private:
  void SeeHost(Point point, int64_t ns);
  void SeeDevice(Point point, size_t job, MarkCursor* times);

  const model::Model& model_;
  Timeline line_;
  Cursor<uint32_t> api_row_, wait_api_row_;
  Cursor<uint8_t> on_device_, has_irq_;
  Cursor<int64_t> submit_ns_, doorbell_ns_, irq_ns_, complete_ns_, wake_ns_;
  MarkCursor doorbell_, fetched_, first_start_, last_end_, completion_, irq_;
  // Columns of API calls.
  Cursor<uint8_t> began_before_, open_;
  Cursor<int64_t> begin_ns_, end_ns_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_TIMELINE_H_
