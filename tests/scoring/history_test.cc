// SPDX-License-Identifier: Apache-2.0
//
// Ten random histories of clocks; `make bench BENCH=time` tries two hundred.
#include "tests/scoring/history.h"

#include "tests/catch.h"

namespace acceltrace::scoring {

TEST_CASE("every time of a random clock history lies in its interval") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const History history = MakeHistory(seed);
    const auto model = LoadHistory(history);
    REQUIRE(model != nullptr);
    const Verdict verdict = CheckTimes(*model, history);
    CAPTURE(seed, history.text, verdict.worst);
    CHECK(verdict.times > 100);
    CHECK(verdict.outside == 0);
    CHECK(verdict.durations_outside == 0);
  }
}

}  // namespace acceltrace::scoring
