// SPDX-License-Identifier: Apache-2.0
//
// Submission and completion rings: wrap, overflow, set-up, order, priority.
#include <algorithm>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0" + properties}), dev(&machine) {
    dev.Enable();
    for (unsigned c = 0; c < AXL_MAX_CONTEXTS; c++) dev.EnableContext(c);
  }
  Machine machine;
  Device dev;
};

axl_desc Nop(uint32_t job, uint32_t index = 0, unsigned flags = 0, unsigned engine = 3) {
  return Command(engine, AXL_OP_NOP, job, index, flags);
}

axl_desc Slow(uint32_t job, uint32_t index = 0, unsigned flags = 0) {
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, job, index, flags);
  d.vector.rows = 1;
  d.vector.cols = 100000;
  return d;
}

}  // namespace

TEST_CASE("rings wrap many times, phase and order hold", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(3, 1, 4, 5);
  uint32_t job = 0, seen = 0;
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 13; i++) f.dev.Push(3, Nop(++job, 0, kLast));
    f.dev.Ring(3);
    for (int i = 0; i < 13; i++) {
      axl_cqe cqe;
      REQUIRE(f.dev.Await(3, &cqe));
      REQUIRE(cqe.job == ++seen);
      REQUIRE(cqe.queue == 3);
      REQUIRE(cqe.correlation == uint64_t{cqe.job} << 32);
    }
  }
  CHECK(f.dev.R32(AXL_REG_Q_SQ_HEAD(3)) == 260);
  CHECK(f.dev.R32(AXL_REG_Q_CQ_TAIL(3)) == 260);
  Counters c = f.dev.Latch();
  CHECK(c[AXL_CTR_JOBS] == 260);
  CHECK(c[AXL_CTR_DOORBELLS] == 20);
  CHECK(c[AXL_CTR_DESC_FETCHED] == 260);
  CHECK(f.dev.ContextCounters(1)[AXL_CTR_JOBS] == 260);
}

TEST_CASE("a full ring is legal, one more is not", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(0, 0, 4, 5);
  for (uint32_t i = 1; i <= 16; i++) f.dev.Push(0, Nop(i, 0, kLast));
  f.dev.Ring(0);
  axl_cqe cqe;
  for (uint32_t i = 1; i <= 16; i++) REQUIRE(f.dev.Await(0, &cqe));
  CHECK(f.dev.R32(AXL_REG_Q_STATUS(0)) == AXL_Q_STATUS_ENABLED);
  f.dev.W32(AXL_REG_Q_SQ_TAIL(0), 16 + 17);
  CHECK((f.dev.R32(AXL_REG_Q_STATUS(0)) & AXL_Q_STATUS_ERROR) != 0);
  CHECK(f.dev.R32(AXL_REG_Q_ERROR(0)) == AXL_ST_RING_ERROR);
  CHECK((f.dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_HALTED) != 0);
  CHECK(f.dev.R32(AXL_REG_CTX_ERROR(0)) == AXL_ST_RING_ERROR);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_CTX_ERROR) != 0);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) != 0);
}

TEST_CASE("a tail that goes back is refused", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(0, 0, 6, 6);
  f.dev.Push(0, Slow(1, 0, kLast));
  f.dev.Push(0, Slow(2, 0, kLast));
  f.dev.Ring(0);
  f.dev.W32(AXL_REG_Q_SQ_TAIL(0), 1);
  CHECK(f.dev.R32(AXL_REG_Q_ERROR(0)) == AXL_ST_RING_ERROR);
}

TEST_CASE("bad ring set-ups do not start", "[queue]") {
  Fixture f;
  Device& d = f.dev;
  struct {
    uint64_t sq, cq;
    uint32_t sq_log2, cq_log2, context;
  } bad[] = {
      {0x1000040, 0x2000000, 6, 6, 0},          {0x1000000, 0x2000010, 6, 6, 0},
      {0x1000000, 0x2000000, 3, 6, 0},          {0x1000000, 0x2000000, 13, 6, 0},
      {0x1000000, 0x2000000, 6, 3, 0},          {0x1000000, 0x2000000, 6, 13, 0},
      {0x1000000, 0x2000000, 6, 6, 8},          {0x1000000, 0x2000000, 6, 6, 0xffffffff},
      {d.regs(), 0x2000000, 6, 6, 0},           {0x1000000, d.regs() + 0x8000, 6, 6, 0},
      {d.window(), 0x2000000, 6, 6, 0},         {0xffffffffffffff80, 0x2000000, 12, 6, 0},
      {0x1000000, 0x2000000, 0xffffffff, 6, 0},
  };
  for (const auto& b : bad) {
    d.W64(AXL_REG_Q_SQ_BASE(2), b.sq);
    d.W64(AXL_REG_Q_CQ_BASE(2), b.cq);
    d.W32(AXL_REG_Q_SQ_LOG2(2), b.sq_log2);
    d.W32(AXL_REG_Q_CQ_LOG2(2), b.cq_log2);
    d.W32(AXL_REG_Q_CONTEXT(2), b.context);
    d.W32(AXL_REG_Q_CTRL(2), AXL_Q_ENABLE);
    CHECK(d.R32(AXL_REG_Q_STATUS(2)) == AXL_Q_STATUS_ERROR);
    CHECK(d.R32(AXL_REG_Q_CTRL(2)) == 0);
    CHECK(d.R32(AXL_REG_Q_ERROR(2)) == AXL_ST_RING_ERROR);
    d.W32(AXL_REG_Q_SQ_TAIL(2), 1);  // and a doorbell does nothing
    f.machine.Step(100000);
  }
  CHECK(d.R32(AXL_REG_CTX_STATUS(0)) == 0);
  CHECK(d.Latch()[AXL_CTR_DOORBELLS] == 0);
}

TEST_CASE("set-up is locked while a queue runs", "[queue]") {
  Fixture f;
  Device& d = f.dev;
  d.SetUpQueue(0, 0, 5, 5);
  uint64_t base = d.R64(AXL_REG_Q_SQ_BASE(0));
  d.W64(AXL_REG_Q_SQ_BASE(0), 0x4000);
  d.W64(AXL_REG_Q_CQ_BASE(0), 0x4000);
  d.W32(AXL_REG_Q_SQ_LOG2(0), 4);
  d.W32(AXL_REG_Q_CONTEXT(0), 1);
  CHECK(d.R64(AXL_REG_Q_SQ_BASE(0)) == base);
  CHECK(d.R64(AXL_REG_Q_CQ_BASE(0)) != 0x4000);
  CHECK(d.R32(AXL_REG_Q_SQ_LOG2(0)) == 5);
  CHECK(d.R32(AXL_REG_Q_CONTEXT(0)) == 0);
}

TEST_CASE("a completion ring that is not emptied stops the context", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(0, 0, 6, 4);
  f.dev.SetUpQueue(1, 1, 6, 6);
  for (uint32_t i = 1; i <= 16; i++) f.dev.Push(0, Nop(i, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(1000000);
  CHECK(f.dev.R32(AXL_REG_Q_CQ_TAIL(0)) == 16);
  CHECK(f.dev.R32(AXL_REG_Q_STATUS(0)) == AXL_Q_STATUS_ENABLED);
  f.dev.Push(0, Nop(17, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(1000000);
  CHECK(f.dev.R32(AXL_REG_Q_CQ_TAIL(0)) == 16);
  CHECK(f.dev.R32(AXL_REG_Q_ERROR(0)) == AXL_ST_RING_ERROR);
  CHECK((f.dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_HALTED) != 0);
  // The other context continues.
  axl_cqe cqe;
  f.dev.Push(1, Nop(18, 0, kLast));
  f.dev.Ring(1);
  CHECK(f.dev.Await(1, &cqe));
  CHECK(cqe.job == 18);
}

TEST_CASE("a consumer index out of range is a ring error", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(0, 0);
  f.dev.W32(AXL_REG_Q_CQ_HEAD(0), 1);
  CHECK(f.dev.R32(AXL_REG_Q_ERROR(0)) == AXL_ST_RING_ERROR);
}

TEST_CASE("interrupts come when asked for and only then", "[queue]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.SetUpQueue(2, 0);
  f.dev.Push(2, Nop(1, 0, AXL_DESC_F_COMPLETE));
  f.dev.Ring(2);
  REQUIRE(f.dev.Await(2, &cqe));
  CHECK(f.dev.Messages(AXL_MSIX_QUEUE(2)) == 0);
  f.dev.Push(2, Nop(2, 0, kLast));
  f.dev.Ring(2);
  REQUIRE(f.dev.Await(2, &cqe));
  CHECK(f.dev.Messages(AXL_MSIX_QUEUE(2)) == (0x5a000000u | AXL_MSIX_QUEUE(2)));
  f.dev.W32(AXL_REG_Q_CTRL(2), AXL_Q_ENABLE);
  f.dev.Push(2, Nop(3, 0, kLast));
  f.dev.Ring(2);
  REQUIRE(f.dev.Await(2, &cqe));
  CHECK(f.dev.Messages(AXL_MSIX_QUEUE(2)) == 0);
  CHECK(f.dev.Latch()[AXL_CTR_INTERRUPTS] == 1);
}

TEST_CASE("a disabled queue drops its work and starts from zero again", "[queue]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.SetUpQueue(0, 0, 4, 4);
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
  for (uint32_t i = 1; i <= 10; i++) f.dev.Push(0, Slow(i, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(20000);
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) != 0);
  f.dev.W32(AXL_REG_Q_CTRL(0), 0);
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 0);
  CHECK(f.dev.R32(AXL_REG_ENG_DEPTH(AXL_ENGINE_VECTOR)) == 0);
  f.machine.Step(10000000);
  std::vector<axl_record> records = f.dev.Records(0);
  CHECK(std::count_if(records.begin(), records.end(), [](const axl_record& r) {
          return r.cmd.status == AXL_ST_CANCELED;
        }) == 10 - static_cast<int>(f.dev.Latch()[AXL_CTR_VECTOR_COMMANDS]));
  f.dev.Resume(0);
  f.dev.Push(0, Nop(50, 0, kLast));
  f.dev.Ring(0);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 50);
  CHECK(cqe.phase == 1);
  CHECK(cqe.sq_head == 1);
}

TEST_CASE("nothing is fetched before device and context are on", "[queue]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.W32(AXL_REG_CTRL, 0);
  f.dev.SetUpQueue(0, 0);
  f.dev.Push(0, Nop(1, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(1000000);
  CHECK(f.dev.Latch()[AXL_CTR_DESC_FETCHED] == 0);
  f.dev.Enable();
  CHECK(f.dev.Await(0, &cqe));
  f.dev.W32(AXL_REG_CTX_CTRL(1), 0);
  f.dev.SetUpQueue(1, 1);
  f.dev.Push(1, Nop(2, 0, kLast));
  f.dev.Ring(1);  // ignored: the context is off
  f.machine.Step(1000000);
  CHECK(f.dev.Latch()[AXL_CTR_DESC_FETCHED] == 1);
  f.dev.EnableContext(1);
  f.dev.Ring(1);
  CHECK(f.dev.Await(1, &cqe));
}

TEST_CASE("jobs of a queue complete in order though engines run apart", "[queue]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.SetUpQueue(0, 0);
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
  f.dev.Push(0, Slow(1, 0, kLast));
  f.dev.Push(0, Nop(2, 0, kLast, AXL_ENGINE_MATRIX));
  f.dev.Ring(0);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 1);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 2);
  f.machine.Step(5000);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 2);
  CHECK(r[0].cmd.job == 2);  // ended first, completed second
  CHECK(r[0].cmd.end < r[1].cmd.end);
}

TEST_CASE("a queue that waits blocks no other queue of the engine", "[queue]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.SetUpQueue(0, 0);
  f.dev.SetUpQueue(1, 1);
  axl_desc wait = Nop(1, 0, kLast);
  wait.wait_sem[0] = 300;
  wait.wait_value[0] = 5;
  f.dev.Push(0, wait);
  f.dev.Ring(0);
  f.machine.Step(100000);
  CHECK_FALSE(f.dev.Poll(0, &cqe));
  CHECK((f.dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_BUSY) != 0);
  axl_desc low = Nop(2, 0, kLast);
  low.signal_sem = 300;
  low.signal_value = 4;
  f.dev.Push(1, low);
  f.dev.Ring(1);
  REQUIRE(f.dev.Await(1, &cqe));
  CHECK(f.dev.R64(AXL_REG_SEM(300)) == 4);
  CHECK_FALSE(f.dev.Poll(0, &cqe));
  low.job = 3;
  low.signal_value = 9;
  f.dev.Push(1, low);
  f.dev.Ring(1);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 1);
  CHECK(f.dev.R64(AXL_REG_SEM(300)) == 9);
  // A semaphore never goes down.
  low.job = 4;
  low.signal_value = 2;
  f.dev.Push(1, low);
  f.dev.Ring(1);
  f.machine.Step(100000);
  CHECK(f.dev.R64(AXL_REG_SEM(300)) == 9);
  CHECK(f.dev.Latch()[AXL_CTR_SEM_SIGNALS] == 3);
}

TEST_CASE("the engine takes the context of higher priority first", "[queue]") {
  Fixture f;
  f.dev.SetUpQueue(0, 0);
  f.dev.SetUpQueue(1, 1);
  f.dev.W32(AXL_REG_CTX_PRIORITY(1), 3);
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
  for (uint32_t i = 0; i < 6; i++) f.dev.Push(0, Slow(10 + i, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(1000);  // the first one runs
  for (uint32_t i = 0; i < 3; i++) f.dev.Push(1, Slow(20 + i, 0, kLast));
  f.dev.Ring(1);
  f.machine.Step(10000000);
  std::vector<uint32_t> order;
  for (const axl_record& r : f.dev.Records(0)) order.push_back(r.cmd.job);
  // One command of the first queue was running, then all of the second, then the rest.
  CHECK(order == std::vector<uint32_t>{10, 20, 21, 22, 11, 12, 13, 14, 15});
}

TEST_CASE("queues of equal priority take turns", "[queue]") {
  Fixture f;
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
  for (unsigned q = 0; q < 3; q++) {
    f.dev.SetUpQueue(q, q);
    for (uint32_t i = 0; i < 3; i++) f.dev.Push(q, Slow(100 * q + i + 1, 0, kLast));
  }
  for (unsigned q = 0; q < 3; q++) f.dev.Ring(q);
  f.machine.Step(10000000);
  std::vector<uint32_t> order;
  for (const axl_record& r : f.dev.Records(0)) order.push_back(r.cmd.job);
  CHECK(order == std::vector<uint32_t>{1, 101, 201, 2, 102, 202, 3, 103, 203});
}

}  // namespace acceltrace::device
