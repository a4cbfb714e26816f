// SPDX-License-Identifier: Apache-2.0
//
// Did everything happen in an order that is possible?
//
// The points of a job (timeline.h) must be in order. Times of the host are
// exact, those of a device are intervals: the order of two points is broken for
// certain when the later one's upper bound lies before the earlier one's lower
// bound. Nothing is repaired; each violation is reported with raw and converted
// values. Two points on the same device clock are compared by their ticks.
#ifndef LIBTRACE_ANALYSIS_CAUSALITY_H_
#define LIBTRACE_ANALYSIS_CAUSALITY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

class LawPass;

struct Violation {
  size_t job = 0;    // row in Model::jobs
  std::string what;  // doorbell > device_doorbell
  bool earlier_on_device = false, later_on_device = false;
  uint64_t earlier_ticks = 0, later_ticks = 0;  // raw, where on a device
  model::Interval earlier{}, later{};           // converted
  int64_t by_ns = 0;                            // at least so much too early
};

struct Causality {
  uint64_t jobs = 0;
  uint64_t constraints = 0;  // pairs of points that could be compared
  uint64_t certain = 0;      // in order whatever the true times within their bounds are
  uint64_t possible = 0;     // in order or not: the bounds overlap
  uint64_t violations = 0;
  std::vector<Violation> examples;  // the first kMaxExamples
  static constexpr size_t kMaxExamples = 20;
};

class CausalitySum {
 public:
  virtual ~CausalitySum() = default;
  // Once the pass is over.
  virtual Causality Finish() = 0;
};
std::unique_ptr<CausalitySum> SumCausality(LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CAUSALITY_H_
