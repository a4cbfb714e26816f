// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/run_rows.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

act_run Run(uint64_t away_ns, uint64_t ready_ns, uint64_t begin_ns, uint64_t end_ns) {
  act_run run = {};
  run.away_ns = away_ns;
  run.ready_ns = ready_ns;
  run.begin_ns = begin_ns;
  run.end_ns = end_ns;
  run.away = ACT_STATE_SLEEPING;
  run.left = ACT_STATE_BLOCKED;
  run.pid = 5;
  run.tid = 6;
  return run;
}

struct Row {
  int64_t begin_ns;
  uint64_t run_ns, away_ns, ready_ns;
  uint32_t away, left, began_before;
  bool operator==(const Row&) const = default;
};

Row Only(RunRows* rows) {
  REQUIRE(rows->rows() == 1);
  const proto::Packet packet = rows->Take();
  const proto::ThreadRunBatch& batch = packet.thread_runs();
  return {batch.begin_ns_delta(0), batch.run_ns(0), batch.away_ns(0),     batch.ready_ns(0),
          batch.away(0),           batch.left(0),   batch.began_before(0)};
}

constexpr int64_t kSinceNs = 50;

TEST_CASE("a run with all that was before it") {
  RunRows rows;
  REQUIRE(rows.Add(Run(100, 130, 140, 200), kSinceNs, 3));
  CHECK(rows.first_ns() == 100);
  CHECK(Only(&rows) == Row{140, 60, 40, 10, ACT_STATE_SLEEPING, ACT_STATE_BLOCKED, 0});
  CHECK(rows.rows() == 0);
}

TEST_CASE("what began before the recording begins with it") {
  RunRows rows;
  // Always running.
  REQUIRE(rows.Add(Run(0, 0, 0, 200), kSinceNs, 0));
  CHECK(Only(&rows) == Row{50, 150, 0, 0, ACT_STATE_UNKNOWN, ACT_STATE_BLOCKED, 1});
  // Asleep, then woken.
  REQUIRE(rows.Add(Run(0, 130, 140, 200), kSinceNs, 0));
  CHECK(Only(&rows) == Row{140, 60, 90, 10, ACT_STATE_SLEEPING, ACT_STATE_BLOCKED, 1});
  // Woken before the daemon noted that it is recorded.
  REQUIRE(rows.Add(Run(0, 30, 140, 200), kSinceNs, 0));
  CHECK(Only(&rows) == Row{140, 60, 110, 110, ACT_STATE_SLEEPING, ACT_STATE_BLOCKED, 1});
  // Always runnable.
  act_run run = Run(0, 0, 140, 200);
  run.away = ACT_STATE_RUNNABLE;
  REQUIRE(rows.Add(run, kSinceNs, 0));
  CHECK(Only(&rows) == Row{140, 60, 90, 90, ACT_STATE_RUNNABLE, ACT_STATE_BLOCKED, 1});
}

TEST_CASE("a record that says what cannot be is not taken") {
  RunRows rows;
  CHECK_FALSE(rows.Add(Run(100, 90, 140, 200), kSinceNs, 0));
  CHECK_FALSE(rows.Add(Run(100, 150, 140, 200), kSinceNs, 0));
  CHECK_FALSE(rows.Add(Run(100, 130, 140, 139), kSinceNs, 0));
  CHECK_FALSE(rows.Add(Run(100, 130, 140, ~uint64_t{0}), kSinceNs, 0));
  act_run run = Run(100, 130, 140, 200);
  run.left = 9;
  CHECK_FALSE(rows.Add(run, kSinceNs, 0));
  run.left = ACT_STATE_ENDED;
  run.away = 9;
  CHECK_FALSE(rows.Add(run, kSinceNs, 0));
  CHECK(rows.rows() == 0);
}

TEST_CASE("threads as they are when the recording ends") {
  RunRows rows;
  act_thread thread = {};
  thread.away = ACT_STATE_BLOCKED;
  thread.away_ns = 100;
  REQUIRE(rows.AddOpen(thread, 6, 200, {}, kSinceNs, 0));
  CHECK(Only(&rows) == Row{200, 0, 100, 0, ACT_STATE_BLOCKED, ACT_STATE_BLOCKED, 0});
  thread.ready_ns = 150;  // woken, but not running yet
  REQUIRE(rows.AddOpen(thread, 6, 200, {}, kSinceNs, 0));
  CHECK(Only(&rows) == Row{200, 0, 100, 50, ACT_STATE_BLOCKED, ACT_STATE_RUNNABLE, 0});
  thread.begin_ns = 170;
  REQUIRE(rows.AddOpen(thread, 6, 200, {}, kSinceNs, 0));
  CHECK(Only(&rows) == Row{170, 30, 70, 20, ACT_STATE_BLOCKED, ACT_STATE_RUNNING, 0});
}

}  // namespace
}  // namespace acceltrace::daemon
