// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast graphs are built and replayed, in CPU time of one core; used by
// tests/bench/scale.
//
//   graph-rate TRACE     one line of JSON
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "libtrace/analysis/report/advice.h"
#include "libtrace/analysis/usage/breakdown.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/analysis/whatif/replays.h"

namespace {

using namespace acceltrace;

double Seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns the minimum of several runs, since other activity of the machine only adds to it.
template <typename Work>
double Least(int times, const Work& work) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const double begin = Seconds();
    work();
    least = std::min(least, Seconds() - begin);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: graph-rate TRACE\n", stderr);
    return 2;
  }
  auto loaded = model::LoadFile(argv[1]);
  if (!loaded.ok()) {
    std::fprintf(stderr, "graph-rate: %s\n", loaded.message().c_str());
    return 1;
  }
  const model::Model& model = **loaded;
  const analysis::Breakdown breakdown = analysis::ComputeBreakdown(model);
  analysis::Graph graph;
  const double build_s = Least(1, [&] {
    graph = analysis::BuildGraph(model, analysis::TracerWork(model), breakdown.begin_ns,
                                 breakdown.end_ns);
  });
  const double path_s = Least(3, [&] { analysis::ComputeCriticalPath(model, graph); });
  analysis::Replays replays(graph);
  replays.Run({});
  // Use different speeds, so that no result is known from an earlier replay.
  double factor = 1.25;
  const double replay_s = Least(5, [&] {
    factor += 0.01;
    replays.Run(analysis::Scales::Faster(analysis::kPcieBandwidth, factor));
  });
  // Make all readings, as `acceltrace whatif` does.
  const double predict_s = Least(1, [&] {
    Predict(&replays, analysis::Scales::Faster(analysis::kHostSpeed, 2), replays.RunAll({}));
  });
  fmt::print(
      "{{\"nodes\":{},\"edges\":{},\"build_s\":{:.6f},\"critical_path_s\":{:.6f},"
      "\"replay_s\":{:.6f},\"predict_s\":{:.6f},\"asked\":{},\"made\":{}}}\n",
      graph.size(), graph.to.size(), build_s, path_s, replay_s, predict_s, replays.asked(),
      replays.made());
  return 0;
}
