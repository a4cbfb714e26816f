// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/calibration.h"

#include <sched.h>

#include "tests/catch.h"

namespace acceltrace::daemon {

TEST_CASE("the middle of rounds leaves the wildest out") {
  REQUIRE(Middle({}).ns == 0);
  const Measured calm = Middle({10, 11, 9, 10, 5000, 10, 12, 10, 10});
  REQUIRE(calm.ns == 10);
  REQUIRE(calm.error_ns <= 2);
  REQUIRE(Middle({-3, -4, -5}).ns == 0);  // no cost is negative
}

TEST_CASE("what a thing costs is measured as often as was asked for") {
  int with = 0, without = 0;
  const Measured cost = CostOf([&] { ++with; }, [&] { ++without; }, 5, 3);
  REQUIRE(with == 15);
  REQUIRE(without == 15);
  REQUIRE(cost.ns >= 0);
  for (const RingCall call : {RingCall::kBegin, RingCall::kBeginWithoutStream, RingCall::kEnd}) {
    REQUIRE(MeasureRingEvent(call).ns > 0);
  }
  REQUIRE(MeasureRingText().ns > 0);
  REQUIRE(MeasureJobStamps().ns > 0);
}

TEST_CASE("a wake-up is measured in bounded time and leaves the thread where it was") {
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  const Measured wake = MeasureWakeUp();
  REQUIRE(wake.ns >= 0);
  REQUIRE(sched_getaffinity(0, sizeof(after), &after) == 0);
  REQUIRE(CPU_EQUAL(&before, &after));
}

}  // namespace acceltrace::daemon
