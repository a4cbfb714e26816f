// SPDX-License-Identifier: Apache-2.0
//
// What must be in a trace if nothing was lost?
//
// A recording has a begin and an end, processes are attached to while they run, and others use the
// same device. Events outside of these limits are not missing. If the stream does not give a limit
// (traces of older versions), events are assumed to be outside.
#ifndef LIBTRACE_ANALYSIS_CHECKS_COVERAGE_H_
#define LIBTRACE_ANALYSIS_CHECKS_COVERAGE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

class Coverage {
 public:
  explicit Coverage(const model::Model& model);

  // All events of the host and of devices between these times are recorded.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }

  // A period in which a process ID belonged to one process running one program.
  struct Life {
    // Applies to events from this time on.
    int64_t from_ns = std::numeric_limits<int64_t>::min();
    int64_t to_ns = std::numeric_limits<int64_t>::max();
    // All events of the process between these times are recorded. kNoTime means not known.
    int64_t since_ns = model::kNoTime, until_ns = std::numeric_limits<int64_t>::max();
    // The process ran before, or its copy of the API library was found while it ran.
    bool attached = false, late_calls = false;
    // Returns true if a call that was already under way may be missing.
    bool CallsAttached() const { return since_ns == model::kNoTime || attached || late_calls; }
  };
  Life LifeAt(uint32_t pid, int64_t at_ns) const;

  // Returns whether a kind of event was collected: whether there is a probe whose name ends in
  // `probe`, or `otherwise` if the trace names no probe that begins with `family`.
  bool Collected(std::string_view probe, std::string_view family, bool otherwise) const;

  // Returns true if the context was destroyed, and all of its jobs reported as done, between these
  // times.
  bool ContextEnded(uint32_t device, uint32_t context, uint32_t pid, int64_t from_ns) const;

  // Returns true if the device announced a jump of its clock or was reset, so that ticks before and
  // after cannot be compared.
  bool ClockJumps(uint32_t device) const { return jumps_[device]; }
  bool AnyReset(uint32_t device, int64_t from_ns, int64_t to_ns) const;

 private:
  void FindLives();

  const model::Model& model_;
  int64_t begin_ns_ = 0, end_ns_ = 0;
  std::unordered_map<uint32_t, std::vector<Life>> lives_;  // by pid, sorted by time
  bool any_since_ = false;                                 // some process has a known since_ns
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<int64_t>> destroyed_;
  std::vector<bool> jumps_;
  std::vector<std::vector<model::Interval>> resets_;  // by device
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_COVERAGE_H_
