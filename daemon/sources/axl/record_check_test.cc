// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/record_check.h"

#include <functional>
#include <string>

#include "daemon/testing/axl/records.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

std::string Verdict(const axl_record& record) {
  const char* wrong = CheckRecord(record, TestLimits());
  return wrong == nullptr ? "" : wrong;
}

TEST_CASE("valid records of each type pass") {
  CHECK(Verdict(CommandRecord(3, 0, 0)) == "");
  CHECK(Verdict(JobRecord(3, 0)) == "");
  CHECK(Verdict(CounterRecord(1, 0, 0, 0)) == "");
  CHECK(Verdict(CounterRecord(1, kCounterParts - 1, 0, 0)) == "");
  axl_record doorbell = {};
  doorbell.h = {AXL_REC_DOORBELL, 0xff, 1, 0, 0, 10};
  CHECK(Verdict(doorbell) == "");
  axl_record loss = {};
  loss.h = {AXL_REC_LOSS, 0xff, 0xff, 0xff, 0, 10};
  loss.loss.lost = 4;
  CHECK(Verdict(loss) == "");
  axl_record event = {};
  event.h = {AXL_REC_EVENT, 0xff, 0xff, 0xff, 0, 10};
  event.event.event = AXL_EV_LINK;
  CHECK(Verdict(event) == "");
}

TEST_CASE("each broken field of a command is refused") {
  struct Case {
    const char* wrong;
    std::function<void(axl_rec_cmd*)> breaks;
  };
  const Case cases[] = {
      {"unknown record type", [](auto* c) { c->h.type = 0; }},
      {"unknown record type", [](auto* c) { c->h.type = 0xff; }},
      {"no such engine", [](auto* c) { c->h.engine = AXL_NUM_ENGINES; }},
      {"no such queue", [](auto* c) { c->h.queue = 8; }},
      {"no such context", [](auto* c) { c->h.context = 4; }},
      {"a command without an engine", [](auto* c) { c->h.engine = 0xff; }},
      {"a command without a queue", [](auto* c) { c->h.queue = 0xff; }},
      {"a command without a job", [](auto* c) { c->job = 0; }},
      {"command index out of range", [](auto* c) { c->index = AXL_MAX_JOB_COMMANDS; }},
      {"unknown status", [](auto* c) { c->status = AXL_ST_CANCELED + 1; }},
      {"unknown limiter", [](auto* c) { c->limiter = AXL_LIMIT_THROTTLE + 1; }},
      {"its head is not its start less the semaphore stall",
       [](auto* c) { c->start = c->head - 1; }},
      {"a time is wider than the clock", [](auto* c) { c->end = 1ULL << 48; }},
      {"a time is wider than the clock", [](auto* c) { c->h.time = ~0ULL; }},
      {"its head is not its start less the semaphore stall",
       [](auto* c) { c->stall[AXL_STALL_SEMAPHORE] = 201; }},
      {"its head is not its start less the semaphore stall",
       [](auto* c) { c->stall[AXL_STALL_SEMAPHORE] = 0; }},
  };
  for (const Case& broken : cases) {
    axl_record record = CommandRecord(3, 0, 0);
    broken.breaks(&record.cmd);
    CHECK(Verdict(record) == broken.wrong);
  }
}

TEST_CASE("times may wrap at the clock's width") {
  axl_record record = CommandRecord(3, 0, 0);
  const uint64_t mask = (1ULL << 48) - 1;
  record.cmd.fetched = mask - 10;
  record.cmd.head = mask - 5;
  record.cmd.start = mask - 5 + 200 - mask - 1;
  record.cmd.end = record.cmd.start + 700;
  CHECK(Verdict(record) == "");
}

// The jump may be reported in an earlier or later record, or in one that is lost.
TEST_CASE("a clock that is set while a command is in flight makes no record bad") {
  for (const int64_t jump : {-1'700, -777, -123'456'789, 12'345'678}) {
    const auto after = [&](uint64_t ticks) { return (ticks + jump) & ((1ULL << 48) - 1); };
    axl_record running = CommandRecord(3, 0, 0);
    running.cmd.stall[AXL_STALL_PCIE] = 600;
    running.cmd.end = after(running.cmd.end);
    CHECK(Verdict(running) == "");
    axl_record waiting = CommandRecord(3, 0, 0);
    for (auto* ticks : {&waiting.cmd.head, &waiting.cmd.start, &waiting.cmd.end}) {
      *ticks = after(*ticks);
    }
    CHECK(Verdict(waiting) == "");
  }
}

TEST_CASE("a wait may be longer than the clock is wide, or than a stall can hold") {
  RecordLimits limits = TestLimits();
  limits.clock_bits = 24;
  axl_record record = CommandRecord(3, 0, 0);
  record.cmd.stall[AXL_STALL_SEMAPHORE] += 3 << 24;
  CHECK(CheckRecord(record, limits) == nullptr);
  CHECK(CheckRecord(record, TestLimits()) != nullptr);
  record.cmd.stall[AXL_STALL_SEMAPHORE] = UINT32_MAX;
  record.cmd.start = record.cmd.head + (7ULL << 32);
  CHECK(CheckRecord(record, TestLimits()) == nullptr);
}

TEST_CASE("counter records stay within the table") {
  axl_record record = CounterRecord(1, kCounterParts - 1, 0, 0);
  ++record.counters.count;
  CHECK(Verdict(record) != "");
  record = CounterRecord(1, 0, 0, 0);
  record.counters.first = 0xffff;
  CHECK(Verdict(record) == "no such counter");
  record = CounterRecord(1, 0, 0, 0);
  record.counters.first = 5;
  CHECK(Verdict(record) == "counters out of step");
  record.counters.count = 0;
  CHECK(Verdict(record) == "bad counter count");
}

}  // namespace
}  // namespace acceltrace::daemon
