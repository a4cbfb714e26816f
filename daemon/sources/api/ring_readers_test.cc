// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/ring_readers.h"

#include <memory>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

TEST_CASE("a recording leaves rings to one that has no probes, and to nobody else") {
  auto first = std::make_unique<RingUser>([](uint32_t pid) { return pid == 1 || pid == 2; });
  CHECK_FALSE(first->AnyOther());
  CHECK_FALSE(first->OtherRecords(1));
  RingUser second([](uint32_t pid) { return pid == 2 || pid == 3; });
  CHECK(second.AnyOther());
  CHECK(second.OtherRecords(2));
  CHECK_FALSE(second.OtherRecords(3));
  // A recording with only rings takes all it can.
  CHECK_FALSE(second.LeavesTo(2));
  second.HasProbes();
  CHECK(second.LeavesTo(2));
  CHECK_FALSE(second.LeavesTo(3));
  CHECK_FALSE(first->LeavesTo(2));
  // Both have probes: either may have the rings.
  first->HasProbes();
  CHECK_FALSE(second.LeavesTo(2));
  first.reset();
  CHECK_FALSE(second.AnyOther());
  CHECK_FALSE(second.OtherRecords(2));
}

}  // namespace
}  // namespace acceltrace::daemon
