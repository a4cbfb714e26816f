// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/loss_span.h"

#include <vector>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

LossSpan Of(const std::vector<act_losses>& cpus, const std::vector<act_losses>& reported) {
  LossSpan span;
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu) span.WidenByNew(cpus[cpu], reported[cpu]);
  return span;
}

// Losses in one epoch, counted together with those of earlier epochs with the same parity.
act_losses InEpoch(uint64_t epoch, uint64_t count, uint64_t first_ns, uint64_t last_ns) {
  act_losses losses = {};
  const uint64_t half = epoch % 2;
  losses.count[half] = count;
  losses.epoch[half] = epoch;
  losses.first_ns[half] = first_ns;
  losses.last_ns[half] = last_ns;
  return losses;
}

}  // namespace

TEST_CASE("a span holds the losses of each CPU since the last report") {
  const LossSpan span =
      Of({InEpoch(5, 3, 200, 400), InEpoch(5, 1, 150, 150), {}}, {InEpoch(3, 1, 10, 20), {}, {}});
  CHECK((span.first_ns == 150 && span.last_ns == 400));
}

TEST_CASE("a CPU that lost nothing new has no part in a span") {
  const act_losses before = InEpoch(4, 3, 200, 400);
  const LossSpan span = Of({before, InEpoch(5, 1, 450, 450)}, {before, {}});
  CHECK((span.first_ns == 450 && span.last_ns == 450));
  const LossSpan none = Of({before}, {before});
  CHECK((none.first_ns == 0 && none.last_ns == 0));
}

TEST_CASE("a loss that was counted behind the report of its epoch is in the next one's span") {
  // The program had read the epoch before the report began.
  act_losses reported = InEpoch(4, 3, 200, 400);
  act_losses now = InEpoch(5, 7, 600, 700);
  now.count[0] = 4;
  now.epoch[0] = 4;
  now.first_ns[0] = 200;
  now.last_ns[0] = 410;
  const LossSpan span = Of({now}, {reported});
  CHECK((span.first_ns == 200 && span.last_ns == 700));
  CHECK(Lost(now) - Lost(reported) == 8);
}

}  // namespace acceltrace::daemon
