// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/loss_span.h"

#include <vector>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

struct Counts {
  uint64_t lost = 0, lost_epoch = 0, first_ns = 0, last_ns = 0;
};

LossSpan Of(const std::vector<Counts>& cpus, const std::vector<uint64_t>& reported,
            uint64_t epoch) {
  LossSpan span;
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    span.WidenByNew(cpus[cpu], reported[cpu], epoch);
  }
  return span;
}

}  // namespace

TEST_CASE("a span holds the losses of each CPU since the last report") {
  const LossSpan span = Of({{3, 5, 200, 400}, {1, 5, 150, 150}, {}}, {1, 0, 0}, 5);
  CHECK((span.first_ns == 150 && span.last_ns == 400));
}

TEST_CASE("a CPU that lost nothing new has no part in a span") {
  const LossSpan span = Of({{3, 4, 200, 400}, {1, 5, 450, 450}}, {3, 0}, 5);
  CHECK((span.first_ns == 450 && span.last_ns == 450));
  const LossSpan none = Of({{3, 4, 200, 400}}, {3}, 5);
  CHECK((none.first_ns == 0 && none.last_ns == 0));
}

TEST_CASE("a loss that came between a look and the next epoch is dated") {
  // The program wrote the epoch that had just been looked at.
  const LossSpan span = Of({{4, 4, 200, 500}}, {3}, 5);
  CHECK((span.first_ns == 500 && span.last_ns == 500));
}

}  // namespace acceltrace::daemon
