// SPDX-License-Identifier: Apache-2.0
//
// How many commands overlap on a unit that can do only one at a time?
#ifndef LIBTRACE_ANALYSIS_CHECKS_OVERLAPS_H_
#define LIBTRACE_ANALYSIS_CHECKS_OVERLAPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/analysis/checks/law_pass.h"

namespace acceltrace::analysis {

// Computes only DeviceUse::overlapping_commands of each device.
class OverlapSum {
 public:
  virtual ~OverlapSum() = default;
  // Must be called after the pass has ended.
  virtual std::vector<uint64_t> Finish() = 0;
};
std::unique_ptr<OverlapSum> SumOverlaps(LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_OVERLAPS_H_
