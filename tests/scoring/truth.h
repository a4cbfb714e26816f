// SPDX-License-Identifier: Apache-2.0
//
// A device's truth log (docs/truth-log.md) on the guest's CLOCK_MONOTONIC.
#ifndef TESTS_SCORING_TRUTH_H_
#define TESTS_SCORING_TRUTH_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/clock/estimator.h"

namespace acceltrace::scoring {

// (device, job, index) of a command; the job itself has index kJob.
using TruthKey = std::tuple<uint32_t, uint32_t, uint32_t>;
inline constexpr uint32_t kJob = ~0u;

// Virtual-clock ns; 0 = did not happen.
struct TrueTimes {
  int64_t fetched = 0, start = 0, end = 0;  // command
  int64_t completion = 0, irq = 0;          // job
  int64_t doorbell = 0;                     // job: of its last command
};

struct Truth {
  std::map<TruthKey, TrueTimes> events;
  // (virtual clock, TSC) of the log's lines, which QEMU reads in succession.
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

// Adds the lines of a file to *truth. Errors: cannot open, a line that is not JSON.
Status ReadTruth(const std::string& path, Truth* truth);

// Converts the virtual clock to CLOCK_MONOTONIC: by the log's pairs to the TSC, each of which is
// off by QEMU's delay between two readings, and from there by the driver's samples.
struct TimeScale {
  double origin = 0, host_origin_ns = 0, slope = 1;  // host = host_origin + slope * (v - origin)
  // The accuracy of a true time: how far the middle of an interval's pairs, and the samples, are
  // from the lines. Large if the TSC did not run evenly.
  double accuracy_ns = 0;
  double At(int64_t virtual_ns) const {
    return host_origin_ns + slope * (static_cast<double>(virtual_ns) - origin);
  }
};

// Errors: no samples with a TSC; an empty truth log.
Result<TimeScale> MakeTimeScale(const Truth& truth, std::span<const clock::Sample> samples);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_TRUTH_H_
