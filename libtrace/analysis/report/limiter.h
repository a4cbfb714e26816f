// SPDX-License-Identifier: Apache-2.0
//
// Which resource limits the run, and what would help most?
//
// The limiter is the resource that gains most if it is kStep times as fast, as predicted by what-if
// (whatif.h) for the run without the tracer. If the second resource gains nearly as much, both are
// named. If rows are missing, their time could belong to any resource: at most (1 - 1 / kStep) of
// it is a gain that was not seen. If that is as much as the lead of the first resource, there is no
// answer. The same applies to jobs of which only one side is known (Graph::unplaced_ns).
#ifndef LIBTRACE_ANALYSIS_REPORT_LIMITER_H_
#define LIBTRACE_ANALYSIS_REPORT_LIMITER_H_

#include <string>
#include <vector>

#include "libtrace/analysis/report/verdict.h"
#include "libtrace/analysis/rows/resources.h"

namespace acceltrace::analysis {

struct Graph;
class Replays;

struct ResourceGain {
  Resource resource = kNumResources;
  double gain_ns = 0, lo_ns = 0, hi_ns = 0;  // how much shorter the run is at kStep times the speed
  double share = 0, lo_share = 0, hi_share = 0;
};

struct Limiter {
  static constexpr double kStep = 1.25;
  static constexpr double kClose = 0.15;   // of the first gain: both are named
  static constexpr double kLeast = 0.005;  // of the run: below this no gain is reported
  // If one resource accounts for this share of the run, nothing else can gain much
  // (docs/analysis.md: healthy).
  static constexpr double kNearlyAll = 0.95;

  enum class Standing { kNone, kNamed, kSeveral, kInconclusive };
  Standing standing = Standing::kNone;
  std::string text;                 // one sentence
  std::vector<ResourceGain> gains;  // sorted by gain, the largest first, without zeros
  double run_ns = 0;                // the run without the tracer
  double base_miss = 0;             // replay / recorded - 1
  // The probability that such a verdict is right, from the first resource's lead over the second.
  double confidence = 0;
  // Returns the share of the run that the first resource's work takes, derived from its gain.
  double of_run() const { return gains.empty() ? 0 : gains[0].share / (1 - 1 / kStep); }
  bool withheld() const { return standing == Standing::kInconclusive; }
};

Limiter ComputeLimiter(Replays* replays, const Breakdown& breakdown, const Verdict& verdict);
// For a withheld verdict, which needs no graph.
Limiter WithheldLimiter(const Verdict& verdict);
Limiter ComputeLimiter(const Graph& graph, const Breakdown& breakdown, const Verdict& verdict);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_LIMITER_H_
