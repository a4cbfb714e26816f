// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/online.h"

#include "libtrace/clock/graph.h"
#include "tests/catch.h"
#include "tests/scoring/simulator.h"

namespace acceltrace::scoring {

TEST_CASE("a clock followed online holds the truth of what just happened") {
  for (Scenario scenario : FaultMatrix(false)) {
    if (scenario.lost_to_s > 0) continue;
    const Recording recording = Simulate(scenario);
    clock::OnlineClock online({scenario.nominal_hz, scenario.bits});
    CHECK_FALSE(online.Current().ok());
    size_t constraint = 0, event = 0, cut = 0, missed = 0, asked = 0;
    for (size_t i = 0; i < recording.samples.size(); ++i) {
      const clock::Sample& sample = recording.samples[i];
      while (constraint < recording.constraints.size() &&
             recording.constraints[constraint].host_ns < sample.host_before_ns) {
        online.AddConstraint(recording.constraints[constraint++]);
      }
      while (cut < recording.cuts.size() && recording.cuts[cut].near_ns < sample.host_before_ns) {
        const auto& cut_there = recording.cuts[cut++];
        online.AddCut(cut_there.ticks, clock::Cut::kFrequency, cut_there.near_ns, cut_there.hz);
      }
      online.Add(sample);
      if (i % 50 != 40) continue;
      // Times between the fourth last sample and the last one.
      const auto from = static_cast<double>(recording.samples[i - 3].host_after_ns);
      const auto to = static_cast<double>(sample.host_before_ns);
      const Result<clock::Map>& map = online.Current();
      REQUIRE(map.ok());
      while (event < recording.events.size() && recording.events[event].true_ns < from) ++event;
      for (; event < recording.events.size() && recording.events[event].true_ns < to; ++event) {
        const Event& happened = recording.events[event];
        const clock::Interval when = map->ToHost(happened.ticks, happened.near_ns);
        missed += when.lo_ns > happened.true_ns || when.hi_ns < happened.true_ns;
        ++asked;
      }
    }
    CAPTURE(scenario.name);
    CHECK(asked > 300);
    CHECK(missed == 0);
  }
}

TEST_CASE("devices bound each other") {
  // A copy from one to the other: left after `sent`, arrived before `seen`. The second device is
  // sampled badly, the first one well.
  Scenario good, bad;
  good.duration_s = bad.duration_s = 5;
  good.ppm = 37, bad.ppm = -50;
  good.seed = 1, bad.seed = 2;
  bad.read.request_ns = bad.read.return_ns = 20'000;
  bad.doorbell.request_ns = 15'000;
  bad.interrupt.return_ns = 15'000;
  const Recording first = Simulate(good), second = Simulate(bad);
  std::vector<clock::MapBuilder> builders{first.Builder(), second.Builder()};
  std::vector<clock::Edge> edges;
  size_t other = 0;
  for (const Event& event : first.events) {
    // The next event of the second device, not before the copy's 500 ns.
    while (other < second.events.size() && second.events[other].true_ns < event.true_ns + 500) {
      ++other;
    }
    if (other == second.events.size()) break;
    const Event& later = second.events[other];
    if (later.true_ns > event.true_ns + 10'000) continue;
    edges.push_back({{0, event.ticks, event.near_ns}, {1, later.ticks, later.near_ns}});
  }
  REQUIRE(edges.size() > 20);

  const Result<clock::Map> alone = builders[1].Build();
  const Result<clock::Graph> graph = BuildGraph(builders, edges);
  REQUIRE(alone.ok());
  REQUIRE(graph.ok());
  CHECK(graph->violations == 0);
  CHECK(graph->slack.size() == edges.size());
  for (const clock::Interval& slack : graph->slack) CHECK(slack.hi_ns > 500);
  double width_alone = 0, width_together = 0;
  for (const Event& event : second.events) {
    const clock::Interval a = alone->ToHost(event.ticks, event.near_ns);
    const clock::Interval b = graph->maps[1].ToHost(event.ticks, event.near_ns);
    CHECK(b.lo_ns <= event.true_ns);
    CHECK(b.hi_ns >= event.true_ns);
    width_alone += static_cast<double>(a.width_ns());
    width_together += static_cast<double>(b.width_ns());
  }
  CHECK(width_together < 0.8 * width_alone);

  // An impossible order is reported, not repaired.
  const clock::Edge wrong{edges.back().later, edges.front().earlier};
  const Result<clock::Graph> broken = BuildGraph(builders, {&wrong, 1});
  REQUIRE(broken.ok());
  CHECK(broken->violations == 1);
  CHECK(broken->slack[0].hi_ns < 0);
}

TEST_CASE("durations within a stretch are known better than times") {
  Scenario scenario;
  scenario.ppm = 200;
  scenario.duration_s = 5;
  const Recording recording = Simulate(scenario);
  const Result<clock::Map> map = recording.Builder().Build();
  REQUIRE(map.ok());
  for (size_t i = 0; i + 1 < recording.events.size(); i += 5) {
    const Event& begin = recording.events[i];
    const Event& end = recording.events[i + 4];
    const clock::Interval took = map->Duration(begin.ticks, end.ticks, begin.near_ns);
    const double truth = end.true_ns - begin.true_ns;
    CHECK(took.lo_ns <= truth);
    CHECK(took.hi_ns >= truth);
    CHECK(took.width_ns() < 20);
  }
}

}  // namespace acceltrace::scoring
