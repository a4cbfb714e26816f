// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/record_intake.h"

#include <random>
#include <vector>

#include "daemon/testing/axl/records.h"
#include "daemon/testing/collecting.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

using stream::DecodeDeltas;

struct Fixture {
  CollectingHandler handler;
  RecordIntake intake{3, TestLimits(), "device-ring",
                      [](uint32_t, uint64_t correlation) { return correlation >> 32 != 5; },
                      &handler};
  void Handle(const std::vector<axl_record>& records) {
    intake.Handle(records.data(), records.size());
  }
  // Decodes the n-th block like a reader.
  proto::Packet Batch(size_t n) {
    REQUIRE(n < handler.blocks.size());
    proto::Packet batch;
    const Status status =
        stream::UnpackBlock(handler.blocks[n].block(), &batch, handler.blocks[n].ByteSizeLong());
    INFO(status.message());
    REQUIRE(status.ok());
    return batch;
  }
};

TEST_CASE("commands keep raw ticks, differences wrap with the clock") {
  Fixture f;
  axl_record record = CommandRecord(9, 2, 1);
  const uint64_t mask = (1ULL << 48) - 1;
  record.cmd.fetched = mask;
  record.cmd.head = 4;
  record.cmd.start = 204;
  record.cmd.end = 324;
  f.Handle({record, CommandRecord(9, 3, 2)});
  f.intake.Flush();
  const proto::CommandBatch commands = f.Batch(0).commands();
  CHECK(commands.device() == 3);
  CHECK(DecodeDeltas<uint64_t>(commands.fetched_ticks_delta(), 2) ==
        std::vector<uint64_t>{mask, 1000});
  CHECK(commands.head_ticks_after(0) == 5);
  CHECK(commands.end_ticks_after(0) == 120);
  CHECK(commands.index(1) == 3);
  CHECK(commands.stall_ticks_size() == 2 * AXL_NUM_STALLS);
  CHECK(commands.stall_ticks(AXL_STALL_SEMAPHORE) == 200);
}

TEST_CASE("commands that were in flight when the clock was set are kept") {
  Fixture f;
  axl_record back = CommandRecord(9, 0, 1), ahead = CommandRecord(9, 1, 2);
  back.cmd.end -= 1'999;
  back.cmd.stall[AXL_STALL_PCIE] = 600;
  ahead.cmd.head += 12'345'678, ahead.cmd.start += 12'345'678, ahead.cmd.end += 12'345'678;
  f.Handle({back, ahead});
  f.intake.Flush();
  CHECK(f.intake.bad() == 0);
  const proto::CommandBatch commands = f.Batch(0).commands();
  REQUIRE(commands.head_ticks_after_size() == 2);
  CHECK(commands.end_ticks_after(0) == ((1 - 1300) & TestLimits().TickMask()));
  CHECK(commands.head_ticks_after(1) == 12'345'778);
}

TEST_CASE("a wait longer than a narrow clock is known from its stall") {
  Fixture f;
  RecordLimits limits = TestLimits();
  limits.clock_bits = 24;
  RecordIntake narrow(
      3, limits, "device-ring", [](uint32_t, uint64_t) { return true; }, &f.handler);
  axl_record record = CommandRecord(9, 0, 1);
  record.cmd.stall[AXL_STALL_SEMAPHORE] += 2 << 24;
  narrow.Handle(&record, 1);
  narrow.Flush();
  CHECK(narrow.bad() == 0);
  CHECK(f.Batch(0).commands().start_ticks_after(0) == (2 << 24) + 200);
  CHECK(f.Batch(0).commands().stall_ticks(AXL_STALL_SEMAPHORE) == (2 << 24) + 200);
}

TEST_CASE("jobs: no interrupt is distinguished from one at the doorbell") {
  Fixture f;
  axl_record with = JobRecord(4, 1), without = with;
  without.job.irq = 0;
  without.job.fetched = 890;  // before the doorbell that covered its last entry
  f.Handle({with, without});
  f.intake.Flush();
  const proto::JobBatch jobs = f.Batch(0).jobs();
  CHECK(jobs.has_irq(0) == 1);
  CHECK(jobs.irq_ticks_after(0) == 1400);
  CHECK(jobs.has_irq(1) == 0);
  CHECK(jobs.fetched_ticks_after(1) == -10);
  CHECK(jobs.fetched_ticks_after(0) == 100);
}

TEST_CASE("records of other processes are counted, losses reported, the rest handed on") {
  Fixture f;
  axl_record foreign = CommandRecord(1, 0, 1), others_job = JobRecord(1, 1), loss = {};
  foreign.cmd.correlation = others_job.job.correlation = 5ULL << 32;
  loss.h = {AXL_REC_LOSS, 0xff, 0xff, 0xff, 2, 50};
  loss.loss.lost = 12;
  axl_record unknown = {};
  unknown.h.type = 99;
  f.Handle({CommandRecord(1, 0, 0), foreign, others_job, loss, CounterRecord(1, 0, 7, 3), unknown});
  CHECK(f.intake.waiting() == 1);
  f.intake.Flush();
  CHECK(f.intake.waiting() == 0);
  CHECK(f.intake.foreign() == 2);
  REQUIRE(f.handler.others.size() == 1);
  CHECK(f.handler.others[0].unit == AXL_ENGINE_MATRIX);
  CHECK(f.handler.others[0].head_ticks == foreign.cmd.head);
  CHECK(f.handler.others[0].end_ticks == foreign.cmd.end);
  CHECK(f.intake.loss_records() == 1);
  CHECK(f.intake.loss_dated() == 12);
  CHECK(f.intake.bad() == 1);
  REQUIRE(f.handler.counter_parts.size() == 1);
  CHECK(f.handler.counter_parts[0].snapshot == 1);
  CHECK(f.handler.counter_parts[0].first == 0);
  REQUIRE(f.handler.losses.size() == 1);
  CHECK(f.handler.losses[0].count == 12);
  CHECK(stream::Rows(f.Batch(0)) == 1);
}

TEST_CASE("events of the device and doorbells have one form") {
  Fixture f;
  axl_record event = {}, doorbell = {};
  event.h = {AXL_REC_EVENT, 0xff, 0xff, 0xff, 4, 50};
  event.event.event = AXL_EV_ECC;
  event.event.arg[0] = 7, event.event.arg[1] = 1;
  doorbell.h = {AXL_REC_DOORBELL, 0xff, 3, 0, 5, 60};
  doorbell.doorbell.tail = 9, doorbell.doorbell.previous_tail = 8;
  f.Handle({event, doorbell});
  REQUIRE(f.handler.device_events.size() == 2);
  const DeviceEvent &first = f.handler.device_events[0], &second = f.handler.device_events[1];
  CHECK(first.kind == proto::DeviceEventBatch::KIND_MEMORY_ERROR);
  CHECK(first.record == 4);
  CHECK(first.ticks == 50);
  CHECK(first.arg0 == 7);
  CHECK(first.arg1 == 1);
  CHECK(second.kind == proto::DeviceEventBatch::KIND_DOORBELL);
  CHECK(second.arg0 == 9);
  CHECK(second.arg1 == 8);
  CHECK(second.arg2 == 3);
}

// Makes mostly valid records, some with a random field.
axl_record AnyCommand(std::mt19937_64& random, uint32_t sequence) {
  const auto below = [&](uint64_t n) { return random() % n; };
  axl_record record = CommandRecord(1 + static_cast<uint32_t>(sequence / 8),
                                    static_cast<uint16_t>(sequence % 8), sequence);
  axl_rec_cmd& cmd = record.cmd;
  const uint64_t base = random() >> below(64) & TestLimits().TickMask() / 4;
  cmd.fetched = base;
  cmd.head = cmd.fetched + below(1 << 20);
  cmd.start = cmd.head + below(1 << 20);
  cmd.end = cmd.start + 1000 + below(100000);
  // Sometimes the clock is set in between.
  if (below(50) == 0) cmd.end = (cmd.end - below(1 << 30)) & TestLimits().TickMask();
  if (below(50) == 0) cmd.fetched = (cmd.fetched + below(1 << 30)) & TestLimits().TickMask();
  cmd.stall[AXL_STALL_SEMAPHORE] = static_cast<uint32_t>(cmd.start - cmd.head);
  if (below(50) == 0) cmd.stall[AXL_STALL_SEMAPHORE] = UINT32_MAX;
  cmd.stall[AXL_STALL_PCIE] = below(8) == 0 ? static_cast<uint32_t>(below(900)) : 0;
  cmd.work = random() >> below(64);
  cmd.row_hits = static_cast<uint32_t>(random() >> (32 + below(32)));
  if (below(40) == 0) record.bytes[below(sizeof(cmd))] = static_cast<uint8_t>(random());
  record.h.type = AXL_REC_CMD;
  return record;
}

TEST_CASE("a block holds the good ones of any records, value by value") {
  std::mt19937_64 random(7);
  const uint64_t mask = TestLimits().TickMask();
  for (int round = 0; round < 60; ++round) {
    Fixture f;
    std::vector<axl_record> records, good;
    const size_t count = 1 + random() % (round % 3 == 0 ? kBlockRows : 40);
    for (uint32_t i = 0; i < count; ++i) {
      records.push_back(AnyCommand(random, i));
      const axl_record& record = records.back();
      if (record.cmd.correlation >> 32 == 5) {
        records.pop_back();
      } else if (CheckRecord(record, TestLimits()) == nullptr) {
        good.push_back(record);
      }
    }
    f.Handle(records);
    f.intake.Flush();
    CHECK(f.intake.bad() == records.size() - good.size());
    if (good.empty()) continue;
    REQUIRE(f.handler.blocks.size() == 1);
    const proto::CommandBatch batch = f.Batch(0).commands();
    REQUIRE(stream::Rows(f.Batch(0)) == good.size());
    const auto fetched = DecodeDeltas<uint64_t>(batch.fetched_ticks_delta(), good.size());
    const auto number = DecodeDeltas<uint64_t>(batch.record_delta(), good.size());
    const auto correlation = DecodeDeltas<uint64_t>(batch.correlation_delta(), good.size());
    size_t wrong = 0;
    for (size_t i = 0; i < good.size(); ++i) {
      const axl_rec_cmd& cmd = good[i].cmd;
      const auto is = [&](uint64_t value, uint64_t want) { wrong += value != want; };
      is(fetched[i], cmd.fetched);
      is(stream::ColumnAt(batch.head_ticks_after(), i), (cmd.head - cmd.fetched) & mask);
      is(stream::ColumnAt(batch.start_ticks_after(), i), (cmd.start - cmd.head) & mask);
      is(stream::ColumnAt(batch.end_ticks_after(), i), (cmd.end - cmd.start) & mask);
      is(number[i], cmd.h.sequence);
      is(correlation[i], cmd.correlation);
      is(stream::ColumnAt(batch.unit(), i), cmd.h.engine);
      is(stream::ColumnAt(batch.queue(), i), cmd.h.queue);
      is(stream::ColumnAt(batch.context(), i), cmd.h.context);
      is(stream::ColumnAt(batch.job(), i), cmd.job);
      is(stream::ColumnAt(batch.index(), i), cmd.index);
      is(stream::ColumnAt(batch.opcode(), i), cmd.opcode);
      is(stream::ColumnAt(batch.status(), i), cmd.status);
      is(stream::ColumnAt(batch.limiter(), i), cmd.limiter);
      is(stream::ColumnAt(batch.tag(), i), cmd.tag);
      is(stream::ColumnAt(batch.work(), i), cmd.work);
      is(stream::ColumnAt(batch.bytes(), i), cmd.bytes);
      is(stream::ColumnAt(batch.memory_bytes(), i), cmd.dram_bytes);
      is(stream::ColumnAt(batch.row_hits(), i), cmd.row_hits);
      is(stream::ColumnAt(batch.row_misses(), i), cmd.row_misses);
      for (size_t s = 0; s < AXL_NUM_STALLS; ++s) {
        is(stream::ColumnAt(batch.stall_ticks(), i * AXL_NUM_STALLS + s), cmd.stall[s]);
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace acceltrace::daemon
