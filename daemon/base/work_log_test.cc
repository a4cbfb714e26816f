// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/work_log.h"

#include <unistd.h>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"
#include "tests/catch.h"

namespace acceltrace::daemon {

TEST_CASE("the work log joins neighbours and keeps sums") {
  WorkLog log;
  log.Add(1'000'000, 1'010'000, 8'000, 0);
  log.Add(1'012'000, 1'020'000, 7'000, 0);  // right after it
  log.Add(2'000'000, 2'010'000, 9'000, 0);
  log.Add(2'011'000, 2'012'000, 1'000, 1);  // on another CPU
  REQUIRE(log.size() == 3);
  proto::Accounts accounts;
  log.Write(&accounts);
  REQUIRE(accounts.work_begin_ns_delta(0) == 1'000'000);
  REQUIRE(accounts.work_ns(0) == 20'000);
  REQUIRE(accounts.work_cpu_ns(0) == 15'000);
  REQUIRE(accounts.work_wakes(0) == 1);
  REQUIRE(accounts.work_begin_ns_delta(1) == 1'000'000);
  REQUIRE(accounts.work_cpu(2) == 1);
}

TEST_CASE("two threads that worked at once are one stretch, others stay apart") {
  WorkLog log, beside;
  log.Add(1'000'000, 1'100'000, 90'000, 0);
  log.Add(3'000'000, 3'050'000, 50'000, 0);
  beside.Add(1'050'000, 1'300'000, 150'000, 1);
  beside.Add(2'000'000, 2'100'000, 100'000, 1);
  proto::Accounts accounts;
  log.Write(&accounts, {&beside});
  REQUIRE(accounts.work_ns_size() == 3);
  REQUIRE(accounts.work_begin_ns_delta(0) == 1'000'000);
  REQUIRE(accounts.work_ns(0) == 300'000);
  REQUIRE(accounts.work_cpu_ns(0) == 240'000);
  REQUIRE(accounts.work_cpu(0) == 1);
  REQUIRE(accounts.work_wakes(0) == 2);
  REQUIRE(accounts.work_begin_ns_delta(1) == 1'000'000);
  REQUIRE(accounts.work_begin_ns_delta(2) == 1'000'000);
  REQUIRE(accounts.work_cpu(2) == 0);
}

TEST_CASE("of two threads on one CPU the one that is lifted had it while it was") {
  WorkLog log, beside;
  log.Add(1'000'000, 1'100'000, 100'000, 0, 1, true);
  beside.Add(900'000, 1'300'000, 60'000, 0);
  proto::Accounts accounts;
  log.Write(&accounts, {&beside});
  REQUIRE(accounts.work_ns_size() == 3);
  REQUIRE(accounts.work_begin_ns_delta(0) == 900'000);
  REQUIRE(accounts.work_ns(0) == 100'000);
  REQUIRE(accounts.work_cpu_ns(0) == 20'000);
  REQUIRE(accounts.work_ns(1) == 100'000);
  REQUIRE(accounts.work_cpu_ns(1) == 100'000);
  REQUIRE(accounts.work_ns(2) == 200'000);
  REQUIRE(accounts.work_cpu_ns(2) == 40'000);
  REQUIRE(accounts.work_wakes(0) + accounts.work_wakes(1) + accounts.work_wakes(2) == 2);
}

TEST_CASE("whatever overlaps, the CPU time stays what it was, in order") {
  uint64_t state = 1;
  const auto random = [&state](uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 200; ++round) {
    WorkLog logs[3];
    uint64_t sum_ns = 0;
    for (WorkLog& log : logs) {
      int64_t at_ns = 0;
      for (int i = 0; i < 30; ++i) {
        at_ns += 1 + static_cast<int64_t>(random(60'000));
        const auto length_ns = static_cast<int64_t>(1 + random(50'000));
        const uint64_t cpu_ns = random(static_cast<uint64_t>(length_ns) + 1);
        log.Add(at_ns, at_ns + length_ns, cpu_ns, static_cast<uint32_t>(random(8) == 0), 1,
                random(3) == 0);
        at_ns += length_ns, sum_ns += cpu_ns;
      }
    }
    proto::Accounts accounts;
    logs[0].Write(&accounts, {&logs[1], &logs[2]});
    uint64_t cpu_ns = 0;
    int64_t begin_ns = 0, end_ns = 0;
    for (int i = 0; i < accounts.work_ns_size(); ++i) {
      begin_ns += accounts.work_begin_ns_delta(i);
      REQUIRE(begin_ns >= end_ns);
      end_ns = begin_ns + static_cast<int64_t>(accounts.work_ns(i));
      cpu_ns += accounts.work_cpu_ns(i);
    }
    REQUIRE(cpu_ns == sum_ns);
  }
}

TEST_CASE("a stretch in which its thread was lifted is apart") {
  WorkLog log;
  LiftMark mark;
  lift_mark = &mark;
  const auto work = [] {
    const uint64_t until_ns = ThreadCpuNs() + 300'000;
    while (ThreadCpuNs() < until_ns) {
    }
  };
  {
    const WorkLog::Stretch stretch(&log);
    work();
    mark.Set(MonotonicNs(), ThreadCpuNs());
    work();
    EndLift();
    work();
  }
  lift_mark = nullptr;
  REQUIRE(mark.at_ns() == 0);
  REQUIRE(log.size() == 3);
  proto::Accounts accounts;
  log.Write(&accounts);
  for (const uint64_t cpu_ns : accounts.work_cpu_ns()) REQUIRE(cpu_ns >= 290'000);
  REQUIRE(ThreadCpuNs(static_cast<int>(gettid())) > 0);
}

TEST_CASE("the work log is bounded, and nothing of it is lost") {
  WorkLog log;
  constexpr uint64_t kStretches = 10 * WorkLog::kMaxRows;
  for (uint64_t i = 0; i < kStretches; ++i) {
    const auto at_ns = static_cast<int64_t>(i * 100'000);
    log.Add(at_ns + 50'000, at_ns + 60'000, 10'000, 0);
  }
  REQUIRE(log.size() <= WorkLog::kMaxRows);
  proto::Accounts accounts;
  log.Write(&accounts);
  uint64_t cpu_ns = 0, wakes = 0;
  int64_t begin_ns = 0, end_ns = 0;
  for (int i = 0; i < accounts.work_begin_ns_delta_size(); ++i) {
    begin_ns += accounts.work_begin_ns_delta(i);
    REQUIRE(begin_ns >= end_ns);
    end_ns = begin_ns + static_cast<int64_t>(accounts.work_ns(i));
    cpu_ns += accounts.work_cpu_ns(i);
    wakes += accounts.work_wakes(i);
  }
  REQUIRE(cpu_ns == kStretches * 10'000);
  REQUIRE(wakes == kStretches);
}

TEST_CASE("a stretch has the CPU time since the one before") {
  WorkLog log;
  { const WorkLog::Stretch first(&log); }
  volatile int sink = 0;
  for (int i = 0; i < 3'000'000; ++i) sink = sink + 1;
  { const WorkLog::Stretch second(&log); }
  proto::Accounts accounts;
  log.Write(&accounts);
  REQUIRE(accounts.work_cpu_ns_size() >= 1);
  uint64_t cpu_ns = 0;
  for (const uint64_t row : accounts.work_cpu_ns()) cpu_ns += row;
  REQUIRE(cpu_ns > 100'000);
}

}  // namespace acceltrace::daemon
