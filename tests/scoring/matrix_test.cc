// SPDX-License-Identifier: Apache-2.0
//
// The fault matrix on simulated clocks: in every cell and for any seed, the interval contains the
// truth and no correct order is reported as a violation.
#include <cmath>

#include "tests/catch.h"
#include "tests/scoring/score.h"
#include "tests/scoring/simulator.h"

namespace acceltrace::scoring {

namespace {

Score Run(const Scenario& scenario) {
  const Recording recording = Simulate(scenario);
  const Result<clock::Map> map = recording.Builder().Build();
  REQUIRE(map.ok());
  std::vector<TrueEvent> events;
  for (const Event& event : recording.events) {
    events.push_back(
        {event.ticks, event.near_ns, event.true_ns, map->ToHost(event.ticks, event.near_ns)});
  }
  return ScoreOf(events, MakeBaselines({scenario.nominal_hz, scenario.bits}, recording.samples),
                 map->quality());
}

bool Has(const Scenario& scenario, const char* word) {
  return scenario.name.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("the fault matrix") {
  for (bool calm : {true, false}) {
    for (Scenario scenario : FaultMatrix(calm)) {
      for (uint64_t seed : {1, 2}) {
        scenario.seed = 100 * seed + scenario.seed;
        const Score score = Run(scenario);
        CAPTURE(calm, scenario.name, scenario.seed, score.error.p99_ns, score.worst_outside_ns);
        CHECK(score.outside == 0);
        // Events during a clock's jump cannot be ordered.
        if (!Has(scenario, "jump")) CHECK(score.quality.constraints_rejected == 0);
        CHECK(score.quality.samples_rejected == 0);
        const auto trip = static_cast<double>(score.quality.round_trip_min_ns);
        CHECK(score.width_median_ns <= trip);
        CHECK(score.error.p99_ns - score.resolution_ns <= score.Best().error.p99_ns);
        if (Has(scenario, "asymmetry")) continue;
        CHECK(score.error.p99_ns <= (scenario.ptm ? 0.05 : 0.12) * trip);
        if (std::abs(scenario.ppm) >= 20) {
          CHECK(score.error.p99_ns <= 0.1 * score.rivals.front().error.p99_ns);
        }
      }
    }
  }
}

TEST_CASE("a bracket that lies is left out, and so is a constraint") {
  Scenario scenario;
  scenario.ppm = 37;
  scenario.duration_s = 5;
  Recording recording = Simulate(scenario);
  // Two readings that are 50 us old, one constraint that is 100 us too strict.
  recording.samples[100].device_ticks -= 50'000;
  recording.samples[180].device_ticks -= 50'000;
  recording.constraints[200].host_ns += 100'000;
  REQUIRE(recording.constraints[200].order == clock::Constraint::Order::kHostFirst);
  const Result<clock::Map> map = recording.Builder().Build();
  REQUIRE(map.ok());
  CHECK(map->quality().samples_rejected == 2);
  CHECK(map->quality().constraints_rejected == 1);
  for (const Event& event : recording.events) {
    CHECK(map->ToHost(event.ticks).Contains(static_cast<int64_t>(event.true_ns)));
  }
}

TEST_CASE("a clock that wanders faster than assumed is noticed") {
  Scenario scenario;
  scenario.ramp_ppm_per_s = 12;
  scenario.duration_s = 10;
  const Score score = Run(scenario);
  CHECK(score.quality.drift_ppm_per_s > 12);
  CHECK(score.outside == 0);
}

TEST_CASE("few samples give wide bounds, not wrong ones") {
  Scenario scenario;
  scenario.ppm = -200;
  scenario.duration_s = 2;
  scenario.period_s = 10;  // no sample in between
  scenario.burst = 2;
  const Score score = Run(scenario);
  CHECK(score.outside == 0);
  CHECK(score.width_median_ns > static_cast<double>(score.quality.round_trip_min_ns));
}

}  // namespace acceltrace::scoring
