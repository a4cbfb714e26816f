// SPDX-License-Identifier: Apache-2.0
//
// What limits a run that is too long to be read as a whole?
//
// Stretches of equal numbers of events are read and analysed one after the other, as far apart as
// they can be (model/partial.h); each stands for the part of the run around it. Counts and losses
// are of the whole trace, by its index and accounts.
//
// A share is the mean of the stretches', weighted by the time that each stands for:
//
//   share = sum(w[i] * s[i]) / sum(w[i])
//
// Its interval is that of the clocks' bounds, widened by what another choice of stretches would
// give: t * sqrt(sum(w[i]^2 * (s[i] - share)^2) * n / (n - 1)) / sum(w[i]), t the 97.5th percentile
// of Student's distribution with n - 1 degrees of freedom (ratio estimation; Cochran, Sampling
// Techniques, 3rd ed., 6.3 and 6.4). Something rare that lies in no stretch is not seen.
#ifndef LIBTRACE_ANALYSIS_STRETCHES_H_
#define LIBTRACE_ANALYSIS_STRETCHES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/model/partial.h"

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
  // From this many events on a report is of stretches unless all is asked for: more take seconds
  // and gigabytes.
  static constexpr uint64_t kLongTrace = 500'000;
  static constexpr size_t kCount = 12;
  static constexpr uint64_t kEvents = 16'384;

  uint64_t events = 0, read = 0;  // of the trace, of the stretches
  double run_ns = 0;              // from the first event to the last

  struct One {
    int64_t from_ns = 0, to_ns = 0;  // since the first event of the trace
    uint64_t events = 0;
    std::string limiter;  // what it names, or why it names none
    bool named = false;
    double confidence = 0;
    Class largest = kApplication;
    bool withheld = false;
    double weight = 0;
  };
  std::vector<One> each;

  std::array<Ratio, kNumClasses> classes{};
  std::array<bool, kNumClasses> seen{};
  Ratio tracer;  // what the run is longer for it, as a share of it
  bool calibrated = false;

  struct Gain {
    Resource resource = kNumResources;
    Ratio share;       // of the run, with the resource Limiter::kStep times as fast
    size_t first = 0;  // stretches in which it gains most
  };
  std::vector<Gain> gains;  // by gain

  struct Change {
    std::string kind, change, text;  // text: of the stretch where it gains most
    Ratio share;
    size_t in = 0;  // stretches
  };
  std::vector<Change> advice;  // by gain

  // From a job's submission to its completion's consumption, of the jobs read.
  Stats latency;
  std::vector<Caveat> caveats;  // of the trace, of any stretch
  std::string text;             // one sentence
  bool withheld = false;        // no limiter is named
  std::vector<std::string> devices;
};

// progress: stretches that are done, of all. Errors: those of PartialTrace::Load(), which say that
// the whole has to be read.
Result<Stretches> ComputeStretches(const model::PartialTrace& trace, size_t count, uint64_t events,
                                   const std::function<void(size_t, size_t)>& progress = {});

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_STRETCHES_H_
