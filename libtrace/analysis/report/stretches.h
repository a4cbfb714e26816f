// SPDX-License-Identifier: Apache-2.0
//
// What limits a run that is too long to be read as a whole?
//
// Samples of equal numbers of events ("stretches") are read and analysed in turn, as far apart as
// possible (model/part/partial.h); each represents the part of the run around it. Counts and losses
// are those of the whole trace, from its index and accounts.
//
// A share is the mean over the stretches, weighted by the time that each represents:
//
//   share = sum(w[i] * s[i]) / sum(w[i])
//
// Its interval is that of the clocks' bounds, widened by what another choice of stretches would
// give: t * sqrt(sum(w[i]^2 * (s[i] - share)^2) * n / (n - 1)) / sum(w[i]), where t is the 97.5th
// percentile of Student's distribution with n - 1 degrees of freedom (ratio estimation; Cochran,
// Sampling Techniques, 3rd ed., 6.3 and 6.4). Rare events outside of all stretches are not seen.
#ifndef LIBTRACE_ANALYSIS_REPORT_STRETCHES_H_
#define LIBTRACE_ANALYSIS_REPORT_STRETCHES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/model/part/partial.h"

namespace acceltrace::analysis {

// A mean over stretches.
class SampledShare {
 public:
  void Add(double weight, const Ratio& share) { parts_.push_back({weight, share}); }
  bool any() const { return !parts_.empty(); }
  Ratio Value() const;

 private:
  struct Part {
    double weight;
    Ratio share;
  };
  std::vector<Part> parts_;
};

struct Stretches {
  // From this many events on, reports use stretches unless the whole is requested, since that would
  // take seconds and gigabytes.
  static constexpr uint64_t kLongTrace = 500'000;
  static constexpr size_t kCount = 12;
  static constexpr uint64_t kEvents = 16'384;

  uint64_t events = 0, read = 0;  // of the trace, and of the stretches
  double run_ns = 0;              // from the first event to the last

  struct One {
    int64_t from_ns = 0, to_ns = 0;  // relative to the first event of the trace
    uint64_t events = 0;
    std::string limiter;  // the named resource, or why there is none
    bool named = false;
    double confidence = 0;
    Class largest = kApplication;
    bool withheld = false;
    double weight = 0;
  };
  std::vector<One> each;

  std::array<Ratio, kNumClasses> classes{};
  std::array<bool, kNumClasses> seen{};
  Ratio tracer;  // how much longer it makes the run, as a share of it
  bool calibrated = false;

  struct Gain {
    Resource resource = kNumResources;
    Ratio share;       // of the run, with the resource Limiter::kStep times as fast
    size_t first = 0;  // number of stretches in which it gains most
  };
  std::vector<Gain> gains;  // sorted by gain

  struct Change {
    std::string kind, change, text;  // text is that of the stretch in which it gains most
    Ratio share;
    size_t in = 0;  // number of stretches
  };
  std::vector<Change> advice;  // sorted by gain

  // From a job's submission until its completion is consumed, over the jobs that were read.
  Stats latency;
  std::vector<Caveat> caveats;  // of the trace, or of any stretch
  std::string text;             // one sentence
  bool withheld = false;        // no limiter is named
  std::vector<std::string> devices;
};

// `progress` receives how many of the stretches are done. Fails as PartialTrace::Load() does; in
// that case the whole trace has to be read.
Result<Stretches> ComputeStretches(const model::PartialTrace& trace, size_t count, uint64_t events,
                                   const std::function<void(size_t, size_t)>& progress = {});

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_STRETCHES_H_
