// SPDX-License-Identifier: Apache-2.0
//
// Trace rings: contents, exact loss accounting, watermark, classes, samples.
#include <set>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0" + properties}), dev(&machine) {
    dev.Enable();
    for (unsigned c = 0; c < 3; c++) {
      dev.EnableContext(c);
      dev.SetUpQueue(c, c, 9, 9);
    }
  }
  // Runs `n` one-command jobs on queue q and waits for the last.
  void Jobs(unsigned q, uint32_t n) {
    axl_cqe cqe;
    for (uint32_t i = 0; i < n; i++) {
      axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, ++job, 0, kLast);
      d.tag = job * 3;
      dev.Push(q, d);
    }
    dev.Ring(q);
    for (uint32_t i = 0; i < n; i++) REQUIRE(dev.Await(q, &cqe));
    machine.Step(2000);
  }
  Machine machine;
  Device dev;
  uint32_t job = 0;
};

}  // namespace

TEST_CASE("a command's record has its whole life", "[trace]") {
  Fixture f(",clock-ppm=0");
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL);
  uint64_t before = f.dev.R64(AXL_REG_CLK_NOW);
  axl_desc d = CopyIn(f.dev.Alloc(8192), 0x40, 8000, 42, 3, kLast);
  d.correlation = 0xfeedfacecafebeef;
  d.tag = 777;
  f.dev.Push(1, d);
  f.dev.Ring(1);
  f.machine.Step(100000);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 3);
  const axl_rec_doorbell& bell = r[0].doorbell;
  const axl_rec_cmd& cmd = r[1].cmd;
  const axl_rec_job& job = r[2].job;
  CHECK(bell.h.type == AXL_REC_DOORBELL);
  CHECK(bell.h.queue == 1);
  CHECK(bell.h.time == before);
  CHECK(bell.tail == 1);
  CHECK(bell.previous_tail == 0);
  CHECK(cmd.h.type == AXL_REC_CMD);
  CHECK(cmd.h.engine == AXL_ENGINE_H2D);
  CHECK(cmd.h.queue == 1);
  CHECK(cmd.h.context == 1);
  CHECK(cmd.correlation == d.correlation);
  CHECK(cmd.job == 42);
  CHECK(cmd.index == 3);
  CHECK(cmd.opcode == AXL_OP_COPY_H2D);
  CHECK(cmd.status == AXL_ST_OK);
  CHECK(cmd.tag == 777);
  CHECK(cmd.bytes == 8000);
  CHECK(cmd.dram_bytes == 8000);
  CHECK(cmd.fetched > bell.h.time);
  CHECK(cmd.fetched <= cmd.head);
  CHECK(cmd.head <= cmd.start);
  CHECK(cmd.start < cmd.end);
  CHECK(cmd.stall[AXL_STALL_SEMAPHORE] == cmd.start - cmd.head);
  CHECK(cmd.stall[AXL_STALL_DISPATCH] == 120);
  CHECK(cmd.limiter == AXL_LIMIT_PCIE);
  uint64_t stalls = 0;
  for (unsigned i = 1; i < AXL_NUM_STALLS; i++) stalls += cmd.stall[i];
  CHECK(stalls < cmd.end - cmd.start);
  CHECK(cmd.end - cmd.start - stalls == 125);  // 8000 bytes at 64 B a cycle
  CHECK(job.h.type == AXL_REC_JOB);
  CHECK(job.doorbell == bell.h.time);
  CHECK(job.fetched == cmd.fetched);
  CHECK(job.first_start == cmd.start);
  CHECK(job.last_end == cmd.end);
  CHECK(job.completion > cmd.end);
  CHECK(job.irq == job.completion);
  CHECK(job.commands == 1);
  CHECK(job.correlation == d.correlation);
}

TEST_CASE("a full ring drops, counts, and says so when there is room again", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 5, AXL_REC_CLASS(AXL_REC_CMD));
  f.Jobs(0, 100);
  axl_trace_header h = f.dev.TraceHeader(0);
  CHECK(h.produced == 32);
  CHECK(h.lost == 68);
  CHECK(f.dev.R64(AXL_REG_TR_PRODUCED(0)) == 32);
  CHECK(f.dev.R64(AXL_REG_TR_LOST(0)) == 68);
  CHECK(f.dev.Latch()[AXL_CTR_TRACE_LOST] == 68);
  std::vector<axl_record> first = f.dev.Records(0);
  REQUIRE(first.size() == 32);
  f.Jobs(0, 3);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 4);
  CHECK(r[0].h.type == AXL_REC_LOSS);
  CHECK(r[0].loss.lost == 68);
  CHECK(r[0].h.sequence == 100);
  CHECK(r[0].loss.first_time > first.back().h.time);
  CHECK(r[0].loss.first_time < r[0].loss.last_time);
  CHECK(r[0].loss.last_time <= r[0].h.time);
  CHECK(r[1].cmd.job == 101);
  CHECK(r[1].h.sequence == 101);
  Counters c = f.dev.Latch();
  CHECK(c[AXL_CTR_TRACE_RECORDS] == 36);
  CHECK(c[AXL_CTR_TRACE_LOST] == 68);
}

TEST_CASE("over any schedule of a lazy consumer nothing is unaccounted", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 5, AXL_REC_CLASS(AXL_REC_CMD));
  uint64_t got = 0, reported_lost = 0, expect_sequence = 0;
  std::set<uint32_t> jobs;
  for (uint32_t round = 0; round < 30; round++) {
    f.Jobs(0, 7 + round * 5 % 60);
    if (round % 3 == 1) continue;  // does not look
    for (const axl_record& r : f.dev.Records(0)) {
      got++;
      CHECK(r.h.sequence >= expect_sequence);
      if (r.h.type == AXL_REC_LOSS) {
        reported_lost += r.loss.lost;
        CHECK(r.h.sequence == expect_sequence + r.loss.lost);
      } else {
        CHECK(r.h.sequence == expect_sequence);
        CHECK(jobs.insert(r.cmd.job).second);
      }
      expect_sequence = r.h.sequence + 1;
    }
  }
  f.Jobs(0, 1);
  for (const axl_record& r : f.dev.Records(0)) {
    got++;
    if (r.h.type == AXL_REC_LOSS) reported_lost += r.loss.lost;
    if (r.h.type == AXL_REC_CMD) jobs.insert(r.cmd.job);
  }
  axl_trace_header h = f.dev.TraceHeader(0);
  CHECK(h.produced == got);
  CHECK(h.lost == reported_lost);
  CHECK(reported_lost > 0);
  CHECK(jobs.size() + reported_lost == f.job);
}

TEST_CASE("a consumer index that cannot be is not believed", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 5, AXL_REC_CLASS(AXL_REC_CMD));
  uint64_t at = f.dev.R64(AXL_REG_TR_BASE(0)) + offsetof(axl_trace_header, consumed);
  for (uint64_t bad : {uint64_t{1000000}, UINT64_MAX}) {
    f.machine.Write64(at, bad);
    f.Jobs(0, 40);
    CHECK(f.dev.TraceHeader(0).produced == 32);
  }
  f.machine.Write64(at, 10);
  f.Jobs(0, 5);
  CHECK(f.dev.TraceHeader(0).produced == 38);
  f.machine.Write64(at, 3);  // back
  f.Jobs(0, 40);
  CHECK(f.dev.TraceHeader(0).produced == 42);
}

TEST_CASE("a context's ring sees its own work only", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL);
  f.dev.SetUpTrace(2, 8, AXL_REC_CLASS(AXL_REC_CMD) | AXL_REC_CLASS(AXL_REC_JOB));
  f.Jobs(0, 3);
  f.Jobs(1, 4);
  f.Jobs(2, 5);
  CHECK(f.dev.Records(0).size() == 3 + 2 * 12);
  std::vector<axl_record> r = f.dev.Records(2);
  CHECK(r.size() == 8);
  for (const axl_record& rec : r) CHECK(rec.h.context == 1);
}

TEST_CASE("classes choose and the watermark interrupts", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_JOB), 10);
  f.Jobs(0, 9);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_TRACE) == 0);
  f.Jobs(0, 1);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_TRACE) != 0);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) != 0);
  f.dev.W32(AXL_REG_INT_STATUS, AXL_INT_TRACE);
  f.Jobs(0, 9);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_TRACE) == 0);
  f.Jobs(0, 1);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_TRACE) != 0);
  for (const axl_record& r : f.dev.Records(0)) CHECK(r.h.type == AXL_REC_JOB);
}

TEST_CASE("counter samples come at their period, whole and from one instant", "[trace]") {
  Fixture f(",clock-ppm=0");
  f.dev.SetUpTrace(0, 10, AXL_REC_CLASS(AXL_REC_COUNTERS), 0, 20000);
  f.dev.SetUpTrace(1, 10, AXL_REC_CLASS(AXL_REC_COUNTERS), 0, 50000);
  f.Jobs(0, 20);
  f.machine.Step(1000000);
  constexpr unsigned kParts = (AXL_NUM_COUNTERS + AXL_REC_COUNTERS_PER - 1) / AXL_REC_COUNTERS_PER;
  for (unsigned ring : {0u, 1u}) {
    std::vector<axl_record> r = f.dev.Records(ring);
    REQUIRE(r.size() % kParts == 0);
    REQUIRE(r.size() / kParts >= (ring ? 20u : 50u));
    uint64_t previous = 0;
    for (size_t s = 0; s < r.size() / kParts; s++) {
      std::vector<uint64_t> value;
      for (size_t p = 0; p < kParts; p++) {
        const axl_rec_counters& c = r[s * kParts + p].counters;
        CHECK(c.h.time == r[s * kParts].h.time);
        CHECK(c.sample == s + 1);
        CHECK(c.first == value.size());
        value.insert(value.end(), c.value, c.value + c.count);
      }
      REQUIRE(value.size() == AXL_NUM_COUNTERS);
      uint64_t time = r[s * kParts].h.time;
      if (previous) CHECK(time - previous == (ring ? 50000u : 20000u));
      previous = time;
      if (ring) {
        CHECK(value[AXL_CTR_ELAPSED] == 0);
        continue;
      }
      for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < 8; i++) sum += value[AXL_CTR_ENGINE(e) + i];
        CHECK(sum == value[AXL_CTR_ELAPSED]);
      }
    }
  }
}

TEST_CASE("a ring that cannot be written is switched off with an error", "[trace]") {
  Fixture f;
  f.dev.W64(AXL_REG_TR_BASE(0), 0x7000000000);
  f.dev.W32(AXL_REG_TR_LOG2(0), 6);
  f.dev.W32(AXL_REG_TR_CLASSES(0), AXL_REC_CLASSES_ALL);
  f.dev.W32(AXL_REG_TR_CTRL(0), 1);
  CHECK(f.dev.R32(AXL_REG_TR_STATUS(0)) == 2);
  CHECK(f.dev.R32(AXL_REG_TR_CTRL(0)) == 0);
  struct {
    uint64_t base;
    uint32_t log2;
  } bad[] = {{0x1000800, 6},      {0x1000000, 4},    {0x1000000, 21},
             {f.dev.window(), 6}, {f.dev.regs(), 6}, {0xfffffffffffff000, 20}};
  for (const auto& b : bad) {
    f.dev.W64(AXL_REG_TR_BASE(0), b.base);
    f.dev.W32(AXL_REG_TR_LOG2(0), b.log2);
    f.dev.W32(AXL_REG_TR_CTRL(0), 1);
    CHECK(f.dev.R32(AXL_REG_TR_STATUS(0)) == 2);
  }
  f.Jobs(0, 3);  // the rest works
}

TEST_CASE("a ring goes on after a reset of the device", "[trace]") {
  Fixture f;
  f.dev.SetUpTrace(0, 5, AXL_REC_CLASS(AXL_REC_JOB));
  auto resume = [&](bool wipe) {
    axl_trace_header before = f.dev.TraceHeader(0);
    uint64_t base = f.dev.R64(AXL_REG_TR_BASE(0));
    f.dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    if (wipe) {
      axl_trace_header no = before;
      no.consumed = no.produced + 1;
      f.dev.Put(base, std::vector<axl_trace_header>{no});
    }
    f.dev.Enable();
    f.dev.EnableContext(0);
    f.dev.Resume(0);
    f.dev.W64(AXL_REG_TR_BASE(0), base);
    f.dev.W32(AXL_REG_TR_LOG2(0), 5);
    f.dev.W32(AXL_REG_TR_CLASSES(0), AXL_REC_CLASS(AXL_REC_JOB));
    f.dev.W32(AXL_REG_TR_CTRL(0), 1);
    return before;
  };
  f.Jobs(0, 10);
  CHECK(f.dev.Records(0).size() == 10);
  f.Jobs(0, 25);  // not consumed
  resume(false);
  CHECK(f.dev.R64(AXL_REG_TR_PRODUCED(0)) == 35);
  f.Jobs(0, 4);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 29);
  for (size_t i = 0; i < r.size(); i++) {
    CHECK(r[i].h.sequence == 10 + i);
    CHECK(r[i].job.job == 11 + i);
  }
  // Records that do not fit are lost, before the reset and after it.
  f.Jobs(0, 40);
  axl_trace_header before = resume(false);
  CHECK(before.produced == 39 + 32);
  CHECK(before.lost == 8);
  f.Jobs(0, 2);
  CHECK(f.dev.R64(AXL_REG_TR_LOST(0)) == 10);
  CHECK(f.dev.Records(0).size() == 32);
  f.Jobs(0, 1);
  r = f.dev.Records(0);
  REQUIRE(r.size() == 2);
  CHECK(r[0].h.type == AXL_REC_LOSS);
  CHECK(r[0].loss.lost == 2);  // the record of those before went with the reset
  CHECK(r[0].h.sequence == 39 + 32 + 10);
  // Impossible indexes make it a new ring.
  resume(true);
  CHECK(f.dev.R64(AXL_REG_TR_PRODUCED(0)) == 0);
  CHECK(f.dev.R64(AXL_REG_TR_LOST(0)) == 0);
}

}  // namespace acceltrace::device
