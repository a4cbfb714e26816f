// SPDX-License-Identifier: Apache-2.0
//
// What must be in a trace, if nothing was lost?
//
// A recording has a beginning and an end, processes are attached to while they run,
// others use the same device. What lies outside is not missing. What the stream does
// not say (traces of older versions) is taken to be outside.
#ifndef LIBTRACE_ANALYSIS_COVERAGE_H_
#define LIBTRACE_ANALYSIS_COVERAGE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

class Coverage {
 public:
  explicit Coverage(const model::Model& model);

  // Events of the host and of devices are there from begin to end.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }

  // What ran under a process's number: a process is given it after another one, or runs another
  // program from some time on.
  struct Life {
    // Of what happened in this time.
    int64_t from_ns = std::numeric_limits<int64_t>::min();
    int64_t to_ns = std::numeric_limits<int64_t>::max();
    // From when on, and until when, all of its events are there; kNoTime: not known.
    int64_t since_ns = model::kNoTime, until_ns = std::numeric_limits<int64_t>::max();
    // It ran before, or its copy of the API library was found while it ran.
    bool attached = false, late_calls = false;
    // Whether a call that it had under way may be missing.
    bool CallsAttached() const { return since_ns == model::kNoTime || attached || late_calls; }
  };
  Life LifeAt(uint32_t pid, int64_t at_ns) const;

  // Whether this kind of event was collected at all: a probe whose name ends so, or, if the trace
  // names none that begins so, `otherwise`.
  bool Collected(std::string_view probe, std::string_view family, bool otherwise) const;

  // Whether the context was destroyed, and all of its jobs reported as done, between these times.
  bool ContextEnded(uint32_t device, uint32_t context, uint32_t pid, int64_t from_ns) const;

  // The device announced a jump of its clock, or was reset: its ticks are no measure across it.
  bool ClockJumps(uint32_t device) const { return jumps_[device]; }
  bool AnyReset(uint32_t device, int64_t from_ns, int64_t to_ns) const;

 private:
  void FindLives();

  const model::Model& model_;
  int64_t begin_ns_ = 0, end_ns_ = 0;
  std::unordered_map<uint32_t, std::vector<Life>> lives_;  // by pid, each in order
  bool any_since_ = false;                                 // of any of them it is known
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<int64_t>> destroyed_;
  std::vector<bool> jumps_;
  std::vector<std::vector<model::Interval>> resets_;  // by device
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_COVERAGE_H_
