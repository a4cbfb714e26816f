// SPDX-License-Identifier: Apache-2.0
//
// Which resource limits the run, and what would help most?
//
// The limiter is the resource whose speed-up by kStep gains most, by what-if (whatif.h), of the
// run without the tracer. Where the second one gains nearly as much, both are named. Where rows
// are missing, that missing time could be any resource's: at most (1 - 1 / kStep) of it is a
// gain that nobody saw, and if that is as much as the first one leads by, there is no answer.
// Likewise jobs of which only one side is there (Graph::unplaced_ns).
#ifndef LIBTRACE_ANALYSIS_LIMITER_H_
#define LIBTRACE_ANALYSIS_LIMITER_H_

#include <string>
#include <vector>

#include "libtrace/analysis/resources.h"
#include "libtrace/analysis/verdict.h"

namespace acceltrace::analysis {

struct Graph;
class Replays;

struct ResourceGain {
  Resource resource = kNumResources;
  double gain_ns = 0, lo_ns = 0, hi_ns = 0;  // less run at kStep times the speed
  double share = 0, lo_share = 0, hi_share = 0;
};

struct Limiter {
  static constexpr double kStep = 1.25;
  static constexpr double kClose = 0.15;   // of the first one's gain: both are named
  static constexpr double kLeast = 0.005;  // of the run: nothing gains worth a word
  // Of the run, that one resource accounts for: all else can gain but little (docs/analysis.md:
  // healthy).
  static constexpr double kNearlyAll = 0.95;

  enum class Standing { kNone, kNamed, kSeveral, kInconclusive };
  Standing standing = Standing::kNone;
  std::string text;                 // one sentence
  std::vector<ResourceGain> gains;  // by gain, the largest first; those of nothing left out
  double run_ns = 0;                // without the tracer
  double base_miss = 0;             // replay / recorded - 1
  // How often such a verdict is right, from the lead of the first over the second.
  double confidence = 0;
  // What the first one's work takes of the run, by what its step saves.
  double of_run() const { return gains.empty() ? 0 : gains[0].share / (1 - 1 / kStep); }
  bool withheld() const { return standing == Standing::kInconclusive; }
};

Limiter ComputeLimiter(Replays* replays, const Breakdown& breakdown, const Verdict& verdict);
// Where the verdict is withheld: known without a graph.
Limiter WithheldLimiter(const Verdict& verdict);
Limiter ComputeLimiter(const Graph& graph, const Breakdown& breakdown, const Verdict& verdict);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_LIMITER_H_
