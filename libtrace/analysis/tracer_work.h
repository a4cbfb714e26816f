// SPDX-License-Identifier: Apache-2.0
//
// What the tracer did while it recorded: its events on the traced threads, each with the cost
// that was calibrated for its kind, and the stretches in which the recorder had a CPU.
#ifndef LIBTRACE_ANALYSIS_TRACER_WORK_H_
#define LIBTRACE_ANALYSIS_TRACER_WORK_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// Costs as low, as likely and as high as the calibration allows.
enum Estimate { kLow, kMid, kHigh, kNumEstimates };
using Cost = std::array<double, kNumEstimates>;  // ns

struct TracerEvent {
  // Of the library: a call's begin or end, a range, a mark.
  static constexpr uint32_t kApi = 32;
  int64_t at_ns;
  uint32_t tid;
  uint32_t kind;  // kApi, or of the driver: HostBatch.Kind
};

// [begin_ns, end_ns): the recorder had cpu_ns of it, wake-ups included.
struct RecorderWork {
  int64_t begin_ns, end_ns;
  uint32_t cpu;
  Cost cpu_ns;
};

class TracerWork {
 public:
  explicit TracerWork(const model::Model& model);

  // False for a trace without calibrated costs.
  bool known() const { return known_; }
  const std::vector<TracerEvent>& events() const { return events_; }       // by time
  const std::vector<RecorderWork>& recorder() const { return recorder_; }  // by time, disjoint
  // Those of one thread.
  const std::vector<TracerEvent>& EventsOf(uint32_t tid) const;
  const Cost& CostOf(const TracerEvent& event) const { return cost_ns_[event.kind]; }
  uint64_t wakes() const { return wakes_; }

 private:
  void ReadCosts(const proto::Accounts& accounts);
  void ReadRecorder(const proto::Accounts& accounts);
  void CollectEvents(const model::Model& model);

  bool known_ = false;
  std::array<Cost, TracerEvent::kApi + 1> cost_ns_{};  // by kind
  std::vector<TracerEvent> events_;
  std::unordered_map<uint32_t, std::vector<TracerEvent>> by_thread_;
  std::vector<RecorderWork> recorder_;
  uint64_t wakes_ = 0;
};

// Some time: one in which the traced threads need no CPU, say.
struct Period {
  int64_t begin_ns, end_ns;
};

// How much of the tracer's work lies between two times, for one lane: all of it where there
// is one CPU, else what happened on one thread.
//
// The recorder takes what CPU time others leave, and gives way at once to whoever wakes up; a
// stretch of its work goes on over such pauses. Of a stretch that lies partly in what is looked at,
// that has its part of the CPU time; where the lane hardly slept there, only what the rest of the
// stretch has no time for. Of this the recorder is taken to have done what it could while the lane
// slept, and the rest while the lane wanted to run, spread evenly over that time.
class WorkSum {
 public:
  // tid and cpu: kEvery takes all. within: what is looked at. asleep: of the lane in it, by
  // time, disjoint.
  static constexpr uint32_t kEvery = UINT32_MAX;
  WorkSum(const TracerWork& work, uint32_t tid, Estimate estimate, const Period& within,
          const std::vector<Period>& asleep = {});

  // cpu: where the thread ran. Of the recorder's work what was while the lane did not sleep.
  double Between(int64_t from_ns, int64_t to_ns, uint32_t cpu) const;

 private:
  double Events(int64_t until_ns) const;
  double Recorder(int64_t from_ns, int64_t to_ns, uint32_t cpu) const;
  int64_t SleptUntil(int64_t at_ns) const;

  const TracerWork& work_;
  std::vector<Period> asleep_;
  std::vector<int64_t> slept_ns_;  // before each of them
  std::vector<double> density_;    // of the recorder, by row: CPU time while the lane was awake
  std::vector<int64_t> at_ns_;
  std::vector<double> sum_ns_;  // of the events before each, and one more
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_TRACER_WORK_H_
