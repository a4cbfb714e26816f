// SPDX-License-Identifier: Apache-2.0
#include "daemon/flush_pace.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

TEST_CASE("a tick that comes late does not let the next one pass") {
  FlushPace pace(100, 50);
  pace.Flushed(1'003);  // by the tick of 1000
  CHECK_FALSE(pace.MustFlush(1'099, true));
  CHECK(pace.MustFlush(1'100, true));
  pace.Flushed(1'100);
  CHECK(pace.due_ns() == 1'200);
}

TEST_CASE("a flush waits for the rings to be empty, in bounds") {
  FlushPace pace(100, 50);
  pace.Flushed(1'000);
  CHECK_FALSE(pace.MustFlush(1'100, false));
  CHECK_FALSE(pace.MustFlush(1'149, false));
  CHECK(pace.MustFlush(1'101, true));
  CHECK(pace.MustFlush(1'150, false));
  CHECK(pace.longest_ns() == 150);
}

TEST_CASE("the rings are marked once for each flush, when it is due") {
  FlushPace pace(100, 50);
  pace.Flushed(1'000);
  CHECK_FALSE(pace.MustMark(1'099));
  CHECK(pace.MustMark(1'100));
  pace.Marked();
  CHECK(pace.marked());
  CHECK_FALSE(pace.MustMark(1'110));
  pace.Flushed(1'120);
  CHECK_FALSE(pace.marked());
  CHECK_FALSE(pace.MustMark(1'130));
  CHECK(pace.MustMark(1'200));
}

}  // namespace
}  // namespace acceltrace::daemon
