// SPDX-License-Identifier: Apache-2.0
//
// Did everything happen in a possible order?
//
// The points of a job (timeline.h) must be in order. Times of the host are exact, those of a device
// are intervals: the order of two points is certainly broken if the later point's upper bound is
// before the earlier point's lower bound. Two points on the same device clock are compared by their
// ticks. Nothing is repaired; each violation is reported with its raw and converted values.
#ifndef LIBTRACE_ANALYSIS_CHECKS_CAUSALITY_H_
#define LIBTRACE_ANALYSIS_CHECKS_CAUSALITY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

class LawPass;

struct Violation {
  size_t job = 0;    // row in Model::jobs
  std::string what;  // such as "doorbell > device_doorbell"
  bool earlier_on_device = false, later_on_device = false;
  uint64_t earlier_ticks = 0, later_ticks = 0;  // raw, for points on a device
  model::Interval earlier{}, later{};           // converted
  int64_t by_ns = 0;                            // by how much it is too early, at least
};

struct Causality {
  uint64_t jobs = 0;
  uint64_t constraints = 0;  // number of pairs of points that could be compared
  uint64_t certain = 0;      // pairs that are in order for all times within the bounds
  uint64_t possible = 0;     // pairs that may be in order or not, since their bounds overlap
  uint64_t violations = 0;
  std::vector<Violation> examples;  // the first kMaxExamples
  static constexpr size_t kMaxExamples = 20;
};

class CausalitySum {
 public:
  virtual ~CausalitySum() = default;
  // Must be called after the pass has ended.
  virtual Causality Finish() = 0;
};
std::unique_ptr<CausalitySum> SumCausality(LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_CAUSALITY_H_
