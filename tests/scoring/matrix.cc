// SPDX-License-Identifier: Apache-2.0
//
// clock-matrix [--json] [--noisy|--quiet]: the fault matrix on simulated
// clocks, a line a cell.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/scoring/score.h"
#include "tests/scoring/simulator.h"

namespace acceltrace::scoring {

int Main(int argc, char** argv) {
  bool json = false, quiet = true, noisy = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--quiet") == 0) {
      noisy = false;
    } else if (std::strcmp(argv[i], "--noisy") == 0) {
      quiet = false;
    } else {
      fmt::print(stderr, "clock-matrix: unknown option {}; try --json, --quiet, --noisy\n",
                 argv[i]);
      return 2;
    }
  }
  for (bool calm : {true, false}) {
    if (calm ? !quiet : !noisy) continue;
    for (const Scenario& scenario : FaultMatrix(calm)) {
      const Recording recording = Simulate(scenario);
      const auto map = recording.Builder().Build();
      if (!map.ok()) {
        fmt::print(stderr, "{}: {}\n", scenario.name, map.message());
        return 1;
      }
      std::vector<TrueEvent> events;
      for (const Event& event : recording.events) {
        events.push_back(
            {event.ticks, event.near_ns, event.true_ns, map->ToHost(event.ticks, event.near_ns)});
      }
      const Score score =
          ScoreOf(events, MakeBaselines({scenario.nominal_hz, scenario.bits}, recording.samples),
                  map->quality());
      const auto& q = score.quality;
      if (json) {
        nlohmann::json cell = ToJson(score);
        cell["cell"] = scenario.name;
        cell["calm"] = calm;
        cell["ppm_set"] = scenario.ppm;
        cell["ptm"] = scenario.ptm;
        fmt::print("{}\n", cell.dump());
        continue;
      }
      fmt::print(
          "{:5} {:36} out {:>3}/{} ({:.0f}) p50 {:6.1f} p99 {:7.1f} max {:9.1f} w {:6.0f}/{:9.0f} "
          "rtt {:4} | best {:7.1f} {:30} snap {:8.1f} | pc {} rej {} crej {} k {:g}\n",
          calm ? "calm" : "noisy", scenario.name, score.outside, score.events,
          score.worst_outside_ns, score.error.p50_ns, score.error.p99_ns, score.error.max_ns,
          score.width_median_ns, score.width_max_ns, q.round_trip_min_ns, score.Best().error.p99_ns,
          score.Best().name, score.rivals.front().error.p99_ns, q.pieces, q.samples_rejected,
          q.constraints_rejected, q.drift_ppm_per_s);
    }
  }
  return 0;
}

}  // namespace acceltrace::scoring

int main(int argc, char** argv) { return acceltrace::scoring::Main(argc, argv); }
