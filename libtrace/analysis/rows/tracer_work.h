// SPDX-License-Identifier: Apache-2.0
//
// What the tracer did during the recording: its events on the traced threads, each with the
// calibrated cost of its kind, and the intervals in which the recorder had a CPU.
#ifndef LIBTRACE_ANALYSIS_ROWS_TRACER_WORK_H_
#define LIBTRACE_ANALYSIS_ROWS_TRACER_WORK_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// The lowest, most likely and highest cost according to the calibration.
enum Estimate { kLow, kMid, kHigh, kNumEstimates };
using Cost = std::array<double, kNumEstimates>;  // ns

struct TracerEvent {
  // The kind of the library's events: begin or end of a call, a range, a mark.
  static constexpr uint32_t kApi = 32;
  int64_t at_ns;
  uint32_t tid;
  uint32_t kind;  // kApi or, for the driver's events, HostBatch.Kind
};

// The recorder used cpu_ns of CPU time in [begin_ns, end_ns), including wake-ups.
struct RecorderWork {
  int64_t begin_ns, end_ns;
  uint32_t cpu;
  Cost cpu_ns;
};

class TracerWork {
 public:
  explicit TracerWork(const model::Model& model);

  // False if the trace has no calibrated costs.
  bool known() const { return known_; }
  const std::vector<TracerEvent>& events() const { return events_; }  // sorted by time
  const std::vector<RecorderWork>& recorder() const {
    return recorder_;
  }  // sorted by time,
     // disjoint
  // Returns the events of one thread.
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

// A time interval, for instance one in which the traced threads need no CPU.
struct Period {
  int64_t begin_ns, end_ns;
};

// Computes how much of the tracer's work was between two times on a lane: all of the work if there
// is one CPU, otherwise that on one thread.
//
// The recorder uses CPU time that others leave and yields to any thread that wakes up; an interval
// of its work includes such pauses. If an interval is only partly within the examined period, that
// part gets its proportion of the CPU time or, if the lane hardly slept there, only what the rest
// of the interval has no time for. The recorder is assumed to have done as much of that as possible
// while the lane slept, and the rest while the lane wanted to run, spread evenly over that time.
class WorkSum {
 public:
  // For tid and cpu, kEvery takes all. `within` is the examined period. `asleep` is when the lane
  // slept in it, sorted by time and disjoint.
  static constexpr uint32_t kEvery = UINT32_MAX;
  WorkSum(const TracerWork& work, uint32_t tid, Estimate estimate, const Period& within,
          const std::vector<Period>& asleep = {});

  // `cpu` is where the thread ran. The recorder's work only counts while the lane did not sleep.
  double Between(int64_t from_ns, int64_t to_ns, uint32_t cpu) const;

 private:
  double Events(int64_t until_ns) const;
  double Recorder(int64_t from_ns, int64_t to_ns, uint32_t cpu) const;
  int64_t SleptUntil(int64_t at_ns) const;

  const TracerWork& work_;
  std::vector<Period> asleep_;
  std::vector<int64_t> slept_ns_;  // total sleep before each of them
  std::vector<double> density_;    // CPU time of the recorder while the lane was awake, by row
  std::vector<int64_t> at_ns_;
  std::vector<double> sum_ns_;  // of the events before each, and the total
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_TRACER_WORK_H_
