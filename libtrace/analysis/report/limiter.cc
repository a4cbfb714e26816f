// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/analysis/report/doubts.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"
#include "libtrace/analysis/whatif/whatif.h"

namespace acceltrace::analysis {
namespace {

constexpr double kNoGain = 1e-4;
constexpr double kGuess = 0.5;  // confidence of a guess
// The confidence if the program's own time is the limiter and it may have waited: the replay was
// right in 88 % of 49 answers, including servers and threads that wait for each other.
constexpr double kUntold = 0.88;

bool OfHost(Resource resource) {
  return resource == kHostSpeed || resource == kHostSubmit || resource == kHostWake;
}

ResourceGain GainOf(Replays* replays, Resource resource, const std::vector<double>& base_ns,
                    double run_ns) {
  ResourceGain gain;
  gain.resource = resource;
  if (!replays->Uses(resource)) return gain;
  Scales scales = Scales::Faster(resource, Limiter::kStep);
  scales.without_tracer = true;
  for (size_t i = 0; i < Readings().size(); ++i) {
    const double share = 1 - replays->Run(scales, Readings()[i]) / base_ns[i];
    if (i == 0) {
      gain.share = gain.lo_share = gain.hi_share = share;
      if (share <= kNoGain) return gain;  // not of interest, and each replay takes time
    }
    gain.lo_share = std::min(gain.lo_share, share);
    gain.hi_share = std::max(gain.hi_share, share);
  }
  gain.gain_ns = gain.share * run_ns;
  gain.lo_ns = gain.lo_share * run_ns, gain.hi_ns = gain.hi_share * run_ns;
  return gain;
}

// Returns what missing rows could hide: the time that a class may have in addition to what was
// recorded.
double MissingNs(const Graph& graph, const Breakdown& breakdown, const Verdict& verdict) {
  if (verdict.whole()) return 0;
  double missing_ns = graph.unplaced_ns;
  for (int c = 0; c < kNumClasses; ++c) {
    missing_ns = std::max(missing_ns, static_cast<double>(verdict.possible[c].hi_ns) -
                                          static_cast<double>(breakdown.time[c].hi_ns));
  }
  return missing_ns;
}

std::string Sentence(const Limiter& limiter) {
  const ResourceGain& first = limiter.gains[0];
  std::string text;
  if (limiter.standing == Limiter::Standing::kSeveral) {
    text = fmt::format(
        "{} and {} set the pace together: {:g}x of them would save {:.1f} % and "
        "{:.1f} % of the run",
        ResourceName(first.resource), ResourceName(limiter.gains[1].resource), Limiter::kStep,
        100 * first.share, 100 * limiter.gains[1].share);
  } else {
    text = fmt::format(
        "{} sets the pace: {:g}x of it would save {:.1f} % of the run ({:.1f} to "
        "{:.1f} %)",
        ResourceName(first.resource), Limiter::kStep, 100 * first.share, 100 * first.lo_share,
        100 * first.hi_share);
    if (limiter.gains.size() > 1) {
      text += fmt::format("; next is {}, {:.1f} %", ResourceName(limiter.gains[1].resource),
                          100 * limiter.gains[1].share);
    }
    if (limiter.of_run() >= Limiter::kNearlyAll) {
      text += fmt::format("; it accounts for {:.0f} % of the run: all else could gain but little",
                          100 * std::min(1.0, limiter.of_run()));
    }
  }
  return text;
}

}  // namespace

Limiter WithheldLimiter(const Verdict& verdict) {
  Limiter limiter;
  limiter.standing = Limiter::Standing::kInconclusive;
  const bool beyond = !verdict.fails() && (verdict.beyond_sources || verdict.outside_only);
  limiter.text = (beyond ? "not to be seen in what was recorded: " : "inconclusive: ") +
                 CaveatsText(verdict.caveats);
  return limiter;
}

Limiter ComputeLimiter(Replays* replays, const Breakdown& breakdown, const Verdict& verdict) {
  const Graph& graph = replays->graph();
  Limiter limiter;
  const auto withhold = [&limiter](const std::string& why) {
    limiter.standing = Limiter::Standing::kInconclusive;
    limiter.text = "inconclusive: " + why;
    limiter.gains.clear();
    return limiter;
  };
  if (!verdict.predicts()) return WithheldLimiter(verdict);
  if (breakdown.RunNs() <= 0 || graph.demands.empty()) {
    limiter.text = "no device was used";
    return limiter;
  }
  Scales without;
  without.without_tracer = true;
  const std::vector<double> base_ns = replays->RunAll(without);
  const double as_recorded_ns = replays->Run({});
  if (as_recorded_ns <= 0 || base_ns[0] <= 0) {
    return withhold("the trace contradicts itself: events wait for each other in a circle");
  }
  limiter.base_miss = as_recorded_ns / graph.RunNs() - 1;
  limiter.run_ns = graph.RunNs() * base_ns[0] / as_recorded_ns;
  for (int r = 0; r < kNumResources; ++r) {
    ResourceGain gain = GainOf(replays, static_cast<Resource>(r), base_ns, limiter.run_ns);
    if (gain.share > kNoGain) limiter.gains.push_back(gain);
  }
  std::stable_sort(
      limiter.gains.begin(), limiter.gains.end(),
      [](const ResourceGain& a, const ResourceGain& b) { return a.gain_ns > b.gain_ns; });
  if (limiter.gains.empty() || limiter.gains[0].share < Limiter::kLeast) {
    limiter.text = "nothing that the trace knows of would make the run faster";
    return limiter;
  }
  const double second = limiter.gains.size() > 1 ? limiter.gains[1].share : 0;
  const double lead = limiter.gains[0].share - second;
  const double missing =
      (1 - 1 / Limiter::kStep) * MissingNs(graph, breakdown, verdict) / graph.RunNs();
  // Missing time may have been attributed to the first resource although it belongs to the second.
  const double moved = missing + std::min(missing, limiter.gains[0].share);
  if (moved > lead) {
    return withhold(CaveatsText(verdict.caveats) + ": what is missing could change the answer");
  }
  limiter.standing = lead < Limiter::kClose * limiter.gains[0].share ? Limiter::Standing::kSeveral
                                                                     : Limiter::Standing::kNamed;
  const double miss = std::abs(limiter.base_miss);
  limiter.confidence =
      1 - 0.5 * std::exp(-(lead - moved) / (0.1 * limiter.gains[0].share + 0.5 * miss + 1e-3));
  if (DisturbedTime(verdict) != nullptr) {
    limiter.confidence = std::min(limiter.confidence, kGuess);
  }
  limiter.text = Sentence(limiter);
  const double program = static_cast<double>(breakdown.time[kApplication].mid_ns) / graph.RunNs();
  if (!graph.sleep_known && limiter.gains[0].resource == kHostSpeed &&
      (1 - 1 / Limiter::kStep) * program > lead) {
    limiter.confidence = std::min(limiter.confidence, kUntold);
    limiter.text +=
        "; whether the program computes or waits between its calls was not recorded (--sources "
        "sched)";
  } else if (graph.crowded && OfHost(limiter.gains[0].resource)) {
    limiter.confidence = std::min(limiter.confidence, kUntold);
    limiter.text += "; whether threads waited for a CPU was not recorded (--sources sched)";
  }
  if (!verdict.whole()) limiter.text += "; " + CaveatsText(verdict.caveats);
  return limiter;
}

Limiter ComputeLimiter(const Graph& graph, const Breakdown& breakdown, const Verdict& verdict) {
  Replays replays(graph);
  return ComputeLimiter(&replays, breakdown, verdict);
}

}  // namespace acceltrace::analysis
