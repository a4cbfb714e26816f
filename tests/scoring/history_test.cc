// SPDX-License-Identifier: Apache-2.0
//
// Ten random histories of clocks, and those that once failed; `make bench BENCH=time` tries two
// hundred.
#include "tests/catch.h"
#include "tests/scoring/history_figures.h"

namespace acceltrace::scoring {

namespace {

void Check(uint64_t seed, bool harsh = false) {
  const History history = MakeHistory(seed, harsh);
  const auto model = LoadHistory(history);
  REQUIRE(model != nullptr);
  const Verdict verdict = CheckTimes(*model, history);
  CAPTURE(seed, harsh, history.text, verdict.worst);
  CHECK(verdict.times > 100);
  CHECK(verdict.outside == 0);
  CHECK(verdict.durations_outside == 0);
  const FigureScore score = CheckFigures(*model, history);
  CAPTURE(score.worst);
  CHECK(score.figures > 50);
  CHECK(score.outside == 0);
}

// Whether a part was read: where a clock was set or wrapped the whole trace is read.
bool CheckPart(uint64_t seed, bool harsh, double from, double to) {
  const History history = MakeHistory(seed, harsh);
  const auto model = LoadHistoryPart(history, from, to);
  if (model == nullptr) return false;
  const Verdict verdict = CheckTimes(*model, history);
  CAPTURE(seed, harsh, from, history.text, verdict.worst);
  CHECK(verdict.outside == 0);
  CHECK(verdict.durations_outside == 0);
  return verdict.times > 0;
}

}  // namespace

TEST_CASE("times of a part of a history lie in their intervals, or no part is read") {
  uint64_t parts = 0;
  for (const bool harsh : {false, true}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      parts += CheckPart(seed, harsh, 0, 0.2);
      parts += CheckPart(seed, harsh, 0.4, 0.5);
    }
  }
  CHECK(parts > 10);
  // Counters far from the samples that were read, and losses at other times, of clocks that jump.
  CheckPart(100, false, 0.3, 0.35);
  CheckPart(29, true, 0, 0.2);
  CheckPart(23, true, 0, 0.2);
}

TEST_CASE("one wrong clock sample is found, or does no harm") {
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    History history = MakeHistory(seed);
    if (!PlantWrongSample(&history)) continue;
    const auto model = LoadHistory(history);
    REQUIRE(model != nullptr);
    const Verdict verdict = CheckTimes(*model, history);
    const FigureScore score = CheckFigures(*model, history);
    const bool said = IsWrongSampleFound(*model);
    found += said;
    CAPTURE(seed, history.text, verdict.worst, score.worst);
    CHECK((said || verdict.outside + verdict.durations_outside + score.outside == 0));
  }
  CHECK(found > 20);
}

TEST_CASE("times and figures of a random clock history lie in their intervals") {
  for (uint64_t seed = 1; seed <= 10; ++seed) Check(seed);
  for (uint64_t seed = 1; seed <= 10; ++seed) Check(seed, true);
}

TEST_CASE("histories that were missed once are not missed again") {
  Check(20029);   // a window beside an unannounced step gave the wrong wrap
  Check(20038);   // a clock at half its rate bends four times as much
  Check(20195);   // an announced rate compared with one that no longer held
  Check(20072);   // wraps counted by such a rate
  Check(777201);  // samples on either side of a jump announced in an unknown wrap
  Check(20388);   // jumps announced before the first sample, or not
  Check(450);     // no samples for longer than a row is in the stream
  Check(779016);  // a jump that is shorter than a round trip, between samples a wrap apart
  Check(779394);  // a duration over a change that came anywhere within a tick
  Check(809);     // wraps counted by it that fit again and again, at even times
  Check(20127);   // gaps beside a command that is shorter than a tick
  Check(20260);   // a stall while the rate changed
  Check(779545);  // a jump that only the orders show, after the last sample
  Check(77015);   // an end between two counts, merged into a period that ended before it
  Check(703779);  // a rate announced before the first sample, placed where a jump led long after
  Check(808452);  // a sample after an unannounced change that fits the rate before it by accident

  constexpr bool kHarsh = true;
  Check(352, kHarsh);    // a lost jump that an announced ramp might have been
  Check(517, kHarsh);    // a lost step that the next announced one might have been
  Check(461, kHarsh);    // a lost jump, then a change of unknown size
  Check(208, kHarsh);    // two samples whose wraps were counted by what was announced alone
  Check(668, kHarsh);    // a last sample that is on no curve, and a later announced change
  Check(701, kHarsh);    // a lost jump right after an announced one, back to before it
  Check(811, kHarsh);    // times between two counts that only an earlier wrap seemed to explain
  Check(20289, kHarsh);  // an announced jump beside a lost one: what the clock showed between them
  Check(20592, kHarsh);  // as 20289
  Check(20593, kHarsh);  // a sample after both with which a count could not continue
  Check(50214, kHarsh);  // a record of a jump lost after the last sample
  Check(50272, kHarsh);  // a lost step right before an announced one that only a last burst follows
  Check(50373, kHarsh);  // like 50214, and no other change announced of that count
  Check(51576, kHarsh);  // a record of a jump lost before the first sample
  Check(70403, kHarsh);  // a bracket taken back over an announced change of unknown size
  Check(70539, kHarsh);  // a window that more curves meet than are looked at
  Check(70602,
        kHarsh);  // a lost step right before an announced one, between samples that show neither
  Check(70763, kHarsh);  // as 70602, but right after it
  Check(70854, kHarsh);  // a jump lost before the first sample, followed by announced changes
  Check(51430, kHarsh);  // an announced jump that has no place where only one curve is left
  Check(90095, kHarsh);  // a lost jump that a faster wander hid, which other breaks made likely
  Check(90633, kHarsh);  // as 90095
  Check(90805, kHarsh);  // a jump between a burst of samples and the only one before the next break
  Check(91691, kHarsh);  // a rate announced before the first sample, followed by a lost one
  Check(91746, kHarsh);  // as 91691, with jumps
  Check(210319, kHarsh);  // a jump by a wide sample, seen by two more before the next break
  Check(603248, kHarsh);  // a lost jump as large as one announced soon after
}

}  // namespace acceltrace::scoring
