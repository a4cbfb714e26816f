// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/whatif.h"

#include <algorithm>
#include <cmath>

#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replay_engine.h"
#include "libtrace/analysis/whatif/replays.h"

namespace acceltrace::analysis {

const std::vector<Reading>& Readings() {
  static const std::vector<Reading> readings = {{},
                                                {.keep_assumed = false},
                                                {.one_bank = 0},
                                                {.one_bank = 1},
                                                {.least_tags = true},
                                                {.keep_turns = true},
                                                {.keep_sleeps = true}};
  return readings;
}

double Replay(const Graph& graph, const Scales& scales, const Reading& reading,
              std::vector<double>* at_ns, std::vector<uint32_t>* order) {
  return ReplayEngine(graph).Run(scales, reading, at_ns, order);
}

Prediction Predict(const Graph& graph, const Scales& scales) {
  Replays replays(graph);
  return Predict(&replays, scales, replays.RunAll({}));
}

Prediction Predict(Replays* replays, const Scales& scales, const std::vector<double>& bases_ns) {
  const Graph& graph = replays->graph();
  Prediction prediction;
  prediction.recorded_ns = graph.RunNs();
  for (const Reading& reading : Readings()) {
    const double base_ns = bases_ns[static_cast<size_t>(&reading - Readings().data())];
    const double ns = replays->Run(scales, reading);
    const bool likeliest = &reading == &Readings().front();
    if (likeliest) prediction.base_ns = base_ns;
    if (likeliest && base_ns <= 0) {
      prediction.error = graph.size() == 0 ? "the trace holds no work of a device"
                                           : "the trace contradicts itself: events wait for each "
                                             "other in a circle";
      return prediction;
    }
    if (base_ns <= 0) continue;
    const double predicted_ns = prediction.recorded_ns * ns / base_ns;
    if (likeliest) prediction.ns = prediction.lo_ns = prediction.hi_ns = predicted_ns;
    prediction.lo_ns = std::min(prediction.lo_ns, predicted_ns);
    prediction.hi_ns = std::max(prediction.hi_ns, predicted_ns);
  }
  prediction.valid = true;
  std::vector<Reading> runs = {{.more_excess = -1}, {.more_excess = 1}};
  if (scales.without_tracer) {
    runs.push_back({.tracer = graph.tracer_low});
    runs.push_back({.tracer = graph.tracer_high});
  }
  double less_ns = 0, more_ns = 0;
  for (const Reading& run : runs) {
    const double ns =
        prediction.recorded_ns * replays->Run(scales, run) / prediction.base_ns - prediction.ns;
    less_ns = std::min(less_ns, ns), more_ns = std::max(more_ns, ns);
  }
  prediction.lo_ns += less_ns, prediction.hi_ns += more_ns;
  // Widen by the replay's own error, and by a part of the change.
  const double change_ns = std::abs(prediction.ns - prediction.recorded_ns);
  const double miss_ns = std::abs(prediction.base_ns - prediction.recorded_ns);
  const double wider_ns = 0.02 * prediction.ns + 0.1 * change_ns + miss_ns;
  prediction.lo_ns = std::max(0.0, prediction.lo_ns - wider_ns);
  prediction.hi_ns += wider_ns;
  return prediction;
}

}  // namespace acceltrace::analysis
