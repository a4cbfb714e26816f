// SPDX-License-Identifier: Apache-2.0
//
// Bad descriptors, bus errors, resets in flight: what stops, what continues, and what the driver is
// told.
#include <functional>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kDram = 512ull << 20;

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0" + properties}), dev(&machine) {
    dev.Enable();
    dev.EnableContext(0);
    dev.EnableContext(1);
    dev.SetUpQueue(0, 0);
    dev.SetUpQueue(1, 1);
  }
  // Runs `d` as job 9, expects this status, and that everything else continues.
  void Expect(axl_desc d, unsigned status) {
    axl_cqe cqe = {};
    d.job = d.job ? 9 : 0;
    d.index = d.index ? d.index : 4;
    d.flags |= kLast;
    dev.Push(0, d);
    dev.Ring(0);
    REQUIRE(dev.Await(0, &cqe, 100000000));
    CHECK(cqe.status == status);
    CHECK(cqe.job == d.job);
    if (status == AXL_ST_OK) return;
    CHECK(cqe.error_index == (d.index & 0xffff));
    CHECK(dev.Messages(AXL_MSIX_QUEUE(0)) != 0);
    CHECK(dev.Messages(AXL_MSIX_DEVICE) != 0);
    CHECK((dev.R32(AXL_REG_INT_STATUS) & AXL_INT_CTX_ERROR) != 0);
    dev.W32(AXL_REG_INT_STATUS, AXL_INT_CTX_ERROR);
    CHECK(dev.R32(AXL_REG_INT_STATUS) == 0);
    CHECK((dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_HALTED) != 0);
    CHECK(dev.R32(AXL_REG_CTX_ERROR(0)) == status);
    CHECK(dev.R32(AXL_REG_CTX_ERR_JOB(0)) == d.job);
    CHECK(dev.R32(AXL_REG_CTX_ERR_INDEX(0)) == d.index);
    // The other context is not affected.
    dev.Push(1, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 77, 0, kLast));
    dev.Ring(1);
    REQUIRE(dev.Await(1, &cqe));
    CHECK(cqe.status == AXL_ST_OK);
    dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET | AXL_CTX_ENABLE);
    CHECK(dev.R32(AXL_REG_CTX_STATUS(0)) == 0);
    CHECK(dev.R32(AXL_REG_CTX_ERROR(0)) == 0);
    CHECK(dev.R32(AXL_REG_Q_STATUS(0)) == 0);
    dev.Resume(0);
  }
  Machine machine;
  Device dev;
};

axl_desc Vector(unsigned opcode, std::function<void(axl_vector&)> change = nullptr) {
  axl_desc d = Command(AXL_ENGINE_VECTOR, opcode, 1);
  d.vector.dst = 0x10000;
  d.vector.src1 = 0x20000;
  d.vector.rows = 4;
  d.vector.cols = 8;
  d.vector.src0_stride = d.vector.src1_stride = d.vector.dst_stride = 8;
  if (change) change(d.vector);
  return d;
}

axl_desc With(axl_desc d, const std::function<void(axl_desc&)>& change) {
  change(d);
  return d;
}

}  // namespace

TEST_CASE("commands of another opcode or engine are refused", "[error]") {
  Fixture f;
  for (unsigned op : {0x01u, 0x0fu, 0x12u, 0x21u, 0x3fu, 0x4eu, 0xffu}) {
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) f.Expect(Command(e, op, 1), AXL_ST_BAD_OPCODE);
  }
  f.Expect(Command(AXL_ENGINE_D2H, AXL_OP_COPY_H2D, 1), AXL_ST_BAD_OPCODE);
  f.Expect(Command(AXL_ENGINE_VECTOR, AXL_OP_MATMUL, 1), AXL_ST_BAD_OPCODE);
  f.Expect(Command(AXL_ENGINE_MATRIX, AXL_OP_VEC_ADD, 1), AXL_ST_BAD_OPCODE);
  f.Expect(Command(4, AXL_OP_NOP, 1), AXL_ST_BAD_OPCODE);
  f.Expect(Command(255, AXL_OP_NOP, 1), AXL_ST_BAD_OPCODE);
}

TEST_CASE("commands whose common fields are not right are refused with the reason", "[error]") {
  Fixture f;
  axl_desc nop = Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1);
  f.Expect(With(nop, [](axl_desc& d) { d.reserved = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.flags = 0x8000; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.flags = AXL_DESC_F_SG; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.job = 0; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.index = 0x10000; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.wait_sem[0] = AXL_MAX_SEMS; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.wait_sem[1] = 0xfffe; }), AXL_ST_BAD_FIELD);
  f.Expect(With(nop, [](axl_desc& d) { d.signal_sem = AXL_MAX_SEMS; }), AXL_ST_BAD_FIELD);
}

TEST_CASE("copies that are not right are refused with the reason", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(65536);
  axl_desc in = CopyIn(host, 0, 4096, 1);
  axl_desc out = CopyOut(host, 0, 4096, 1);
  f.Expect(With(in, [](axl_desc& d) { d.copy.bytes = 0; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.rows = 0; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.rows = AXL_MAX_COPY_ROWS + 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.bytes = AXL_MAX_COPY_BYTES + 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.reserved[2] = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.reserved0 = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.sg_count = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.sg_offset = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(in, [](axl_desc& d) { d.copy.rows = 2; }), AXL_ST_BAD_FIELD);  // pitch 0
  f.Expect(With(in, [](axl_desc& d) { d.copy.device = kDram - 4095; }), AXL_ST_BAD_ADDRESS);
  f.Expect(With(in, [](axl_desc& d) { d.copy.device = kDram - 4096; }), AXL_ST_OK);
  f.Expect(With(out, [](axl_desc& d) { d.copy.device = UINT64_MAX; }), AXL_ST_BAD_ADDRESS);
  f.Expect(With(out, [](axl_desc& d) { d.copy.device = kDram; }), AXL_ST_BAD_ADDRESS);
  f.Expect(With(out, [](axl_desc& d) { d.copy.device = AXL_SCRATCHPAD_BASE + (4 << 20) - 4096; }),
           AXL_ST_OK);
  f.Expect(With(out, [](axl_desc& d) { d.copy.device = AXL_SCRATCHPAD_BASE + (4 << 20) - 4095; }),
           AXL_ST_BAD_ADDRESS);
  f.Expect(With(out,
                [](axl_desc& d) {
                  d.copy.rows = 65536;
                  d.copy.bytes = 4;
                  d.copy.host_pitch = 4;
                  d.copy.device_pitch = UINT32_MAX;
                }),
           AXL_ST_BAD_ADDRESS);
}

TEST_CASE("copies that the bus refuses say so", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(65536);
  axl_desc in = CopyIn(host, 0, 4096, 1);
  axl_desc out = CopyOut(host, 0, 4096, 1);
  f.Expect(With(in, [](axl_desc& d) { d.copy.host = 0x7000000000; }), AXL_ST_DMA_ERROR);
  f.Expect(With(out, [](axl_desc& d) { d.copy.host = 0x7000000000; }), AXL_ST_DMA_ERROR);
  f.Expect(With(in, [](axl_desc& d) { d.copy.host = UINT64_MAX - 100; }), AXL_ST_DMA_ERROR);
  for (uint64_t own : {f.dev.regs(), f.dev.regs() + 0x8000, f.dev.regs() + 0x100000, f.dev.window(),
                       f.dev.window() + 0x10000}) {
    f.Expect(With(in, [&](axl_desc& d) { d.copy.host = own; }), AXL_ST_DMA_ERROR);
    f.Expect(With(out, [&](axl_desc& d) { d.copy.host = own; }), AXL_ST_DMA_ERROR);
  }
}

TEST_CASE("scatter lists that are not right are refused with the reason", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(65536);
  axl_desc in = CopyIn(host, 0, 4096, 1);
  uint64_t list = f.dev.Alloc(4096);
  auto sg = [&](std::vector<axl_sg> entries, uint32_t count, unsigned status) {
    f.dev.Put(list, entries);
    f.Expect(With(in,
                  [&](axl_desc& d) {
                    d.flags = AXL_DESC_F_SG;
                    d.copy.host = list;
                    d.copy.sg_count = count;
                    d.copy.bytes = 100;
                  }),
             status);
  };
  sg({{host, 100, 0}}, 1, AXL_ST_OK);
  sg({{host, 60, 0}, {host + 4096, 60, 0}}, 2, AXL_ST_OK);
  sg({{host, 99, 0}}, 1, AXL_ST_BAD_FIELD);
  sg({{host, 60, 0}, {host, 0, 0}}, 2, AXL_ST_BAD_FIELD);
  sg({{host, 60, 0}, {host, 60, 1}}, 2, AXL_ST_BAD_FIELD);
  sg({{host, 100, 0}}, 0, AXL_ST_BAD_FIELD);
  sg({{host, 100, 0}}, AXL_MAX_SG + 1, AXL_ST_BAD_FIELD);
  sg({{UINT64_MAX, 100, 0}}, 1, AXL_ST_BAD_FIELD);
  sg({{f.dev.regs(), 100, 0}}, 1, AXL_ST_DMA_ERROR);
  list += 8;
  sg({{host, 100, 0}}, 1, AXL_ST_BAD_FIELD);
  list = 0x7000000000;
  f.Expect(With(in,
                [&](axl_desc& d) {
                  d.flags = AXL_DESC_F_SG;
                  d.copy.host = list;
                  d.copy.sg_count = 1;
                }),
           AXL_ST_DMA_ERROR);
}

TEST_CASE("matmuls that are not right are refused with the reason", "[error]") {
  Fixture f;
  axl_desc mm = Matmul(0, 0x10000, 0x20000, 8, 8, 8, 1);
  f.Expect(mm, AXL_ST_OK);
  for (uint32_t axl_matmul::*field :
       {&axl_matmul::m, &axl_matmul::n, &axl_matmul::k, &axl_matmul::batch}) {
    f.Expect(With(mm, [&](axl_desc& d) { d.matmul.*field = 0; }), AXL_ST_BAD_FIELD);
    f.Expect(With(mm, [&](axl_desc& d) { d.matmul.*field = UINT32_MAX; }), AXL_ST_BAD_FIELD);
  }
  for (uint32_t axl_matmul::*field : {&axl_matmul::lda, &axl_matmul::ldb, &axl_matmul::ldc}) {
    f.Expect(With(mm, [&](axl_desc& d) { d.matmul.*field = 7; }), AXL_ST_BAD_FIELD);
    f.Expect(With(mm, [&](axl_desc& d) { d.matmul.*field = UINT32_MAX; }), AXL_ST_BAD_ADDRESS);
  }
  f.Expect(With(mm, [](axl_desc& d) { d.matmul.flags = 0x10; }), AXL_ST_BAD_FIELD);
  f.Expect(With(mm, [](axl_desc& d) { d.matmul.a = 2; }), AXL_ST_BAD_FIELD);
  f.Expect(With(mm, [](axl_desc& d) { d.matmul.c = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(With(mm, [](axl_desc& d) { d.matmul.c = kDram - 252; }), AXL_ST_BAD_ADDRESS);
  f.Expect(With(mm, [](axl_desc& d) { d.matmul.c = kDram - 256; }), AXL_ST_OK);
  f.Expect(With(mm,
                [](axl_desc& d) {
                  d.matmul.batch = 1000;
                  d.matmul.batch_stride_c = UINT32_MAX;
                }),
           AXL_ST_BAD_ADDRESS);
}

TEST_CASE("vector operations that are not right are refused with the reason", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(65536);
  f.Expect(Vector(AXL_OP_VEC_ADD), AXL_ST_OK);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.rows = 0; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.cols = 0; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.rows = UINT32_MAX; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.cols = UINT32_MAX; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.flags = 4; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.flags = AXL_VEC_F_CAUSAL; }),
           AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_COPY, [](axl_vector& v) { v.flags = AXL_VEC_F_BROADCAST1; }),
           AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.reserved = 1; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.src1 += 2; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.dst_stride = 7; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.src0 = kDram; }), AXL_ST_BAD_ADDRESS);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.src1 = kDram; }), AXL_ST_BAD_ADDRESS);
  f.Expect(Vector(AXL_OP_VEC_COPY, [](axl_vector& v) { v.src1 = kDram; }), AXL_ST_OK);
  f.Expect(Vector(AXL_OP_VEC_FILL, [](axl_vector& v) { v.src0 = kDram; }), AXL_ST_OK);
  f.Expect(Vector(AXL_OP_VEC_ADD, [](axl_vector& v) { v.dst = kDram - 4; }), AXL_ST_BAD_ADDRESS);
  f.Expect(Vector(AXL_OP_VEC_ROPE), AXL_ST_BAD_FIELD);  // head of 0
  f.Expect(Vector(AXL_OP_VEC_ROPE, [](axl_vector& v) { v.arg1 = 3; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ROPE, [](axl_vector& v) { v.arg1 = 16; }), AXL_ST_BAD_FIELD);
  f.Expect(Vector(AXL_OP_VEC_ROPE, [](axl_vector& v) { v.arg1 = 4; }), AXL_ST_OK);
  f.Expect(Vector(AXL_OP_VEC_GATHER), AXL_ST_BAD_FIELD);  // table of no rows
  f.Expect(Vector(AXL_OP_VEC_GATHER, [](axl_vector& v) { v.arg0 = UINT32_MAX; }),
           AXL_ST_BAD_ADDRESS);
  f.dev.Put(host, std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 100});
  f.Expect(CopyIn(host, 0, 32, 1), AXL_ST_OK);
  auto table = [](axl_vector& v) {
    v.arg0 = 7;
    v.rows = 7;
    v.src0_stride = 1;
  };
  f.Expect(Vector(AXL_OP_VEC_GATHER, table), AXL_ST_OK);
  f.Expect(Vector(AXL_OP_VEC_GATHER,
                  [&](axl_vector& v) {
                    table(v);
                    v.rows = 8;
                  }),
           AXL_ST_BAD_ADDRESS);
}

TEST_CASE("an error drops the rest of its context, once, and says so", "[error]") {
  Fixture f;
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL);
  for (uint32_t i = 1; i <= 4; i++) {
    axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, i, 0, kLast);
    d.vector.rows = 1;
    d.vector.cols = i == 2 ? 0 : 1000;
    f.dev.Push(0, d);
  }
  f.dev.Ring(0);
  f.machine.Step(1000000);
  axl_cqe cqe;
  REQUIRE(f.dev.Poll(0, &cqe));
  CHECK(cqe.job == 1);
  CHECK(cqe.status == AXL_ST_OK);
  REQUIRE(f.dev.Poll(0, &cqe));
  CHECK(cqe.job == 2);
  CHECK(cqe.status == AXL_ST_BAD_FIELD);
  CHECK_FALSE(f.dev.Poll(0, &cqe));
  std::vector<std::pair<int, int>> commands;
  int errors = 0;
  for (const axl_record& r : f.dev.Records(0)) {
    if (r.h.type == AXL_REC_CMD) commands.emplace_back(r.cmd.job, r.cmd.status);
    if (r.h.type == AXL_REC_EVENT && r.event.event == AXL_EV_CTX_ERROR) {
      errors++;
      CHECK(r.event.arg[0] == AXL_ST_BAD_FIELD);
      CHECK(r.event.arg[1] == 2);
      CHECK(r.event.arg[2] == 0);
    }
  }
  CHECK(errors == 1);
  CHECK(commands ==
        std::vector<std::pair<int, int>>{
            {1, AXL_ST_OK}, {2, AXL_ST_BAD_FIELD}, {3, AXL_ST_CANCELED}, {4, AXL_ST_CANCELED}});
  // A doorbell of a halted context is ignored.
  f.dev.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 5, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(1000000);
  CHECK(f.dev.Latch()[AXL_CTR_DESC_FETCHED] == 4);
}

TEST_CASE("a failed command signals nothing", "[error]") {
  Fixture f;
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, 1, 0, kLast);
  d.signal_sem = 3;
  d.signal_value = 7;
  f.dev.Push(0, d);
  f.dev.Ring(0);
  f.machine.Step(1000000);
  CHECK(f.dev.R64(AXL_REG_SEM(3)) == 0);
  CHECK(f.dev.Latch()[AXL_CTR_SEM_SIGNALS] == 0);
}

TEST_CASE("a queue whose descriptors cannot be read stops", "[error]") {
  Fixture f;
  f.dev.W32(AXL_REG_Q_CTRL(0), 0);
  f.dev.W64(AXL_REG_Q_SQ_BASE(0), 0x7000000000);
  f.dev.W32(AXL_REG_Q_CTRL(0), AXL_Q_ENABLE);
  f.dev.W32(AXL_REG_Q_SQ_TAIL(0), 1);
  f.machine.Step(1000000);
  CHECK(f.dev.R32(AXL_REG_Q_ERROR(0)) == AXL_ST_DMA_ERROR);
  CHECK(f.dev.R32(AXL_REG_CTX_ERROR(0)) == AXL_ST_DMA_ERROR);
  CHECK(f.dev.R32(AXL_REG_CTX_ERR_JOB(0)) == 0);
}

TEST_CASE("a masked device interrupt is sent when it is unmasked", "[error]") {
  Fixture f;
  f.dev.W32(AXL_REG_INT_MASK, AXL_INT_ALL);
  f.dev.W32(AXL_REG_Q_SQ_TAIL(0), 1000);
  CHECK(f.dev.R32(AXL_REG_INT_STATUS) == AXL_INT_CTX_ERROR);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) == 0);
  f.dev.W32(AXL_REG_INT_MASK, AXL_INT_ALL & ~AXL_INT_CTX_ERROR);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) != 0);
  f.dev.W32(AXL_REG_INT_MASK, 0);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) == 0);
}

TEST_CASE("a context reset in flight takes its own work only", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(1 << 20);
  axl_cqe cqe;
  for (uint32_t i = 1; i <= 5; i++) {
    axl_desc d = CopyIn(host, 0, 1 << 20, i, 0, kLast);
    d.signal_sem = 2;
    d.signal_value = 1;
    f.dev.Push(0, d);
    d.signal_sem = AXL_SEMS_PER_CONTEXT + 2;
    d.job += 100;
    f.dev.Push(1, d);
  }
  f.dev.Ring(0);
  f.dev.Ring(1);
  f.machine.Step(200000);
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_H2D)) != 0);
  f.dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET);
  CHECK(f.dev.R64(AXL_REG_SEM(2)) == 0);
  CHECK(f.dev.R32(AXL_REG_CTX_CTRL(0)) == 0);
  for (uint32_t i = 1; i <= 5; i++) {
    REQUIRE(f.dev.Await(1, &cqe));
    CHECK(cqe.job == 100 + i);
    CHECK(cqe.status == AXL_ST_OK);
  }
  CHECK(f.dev.R64(AXL_REG_SEM(AXL_SEMS_PER_CONTEXT + 2)) == 1);
  f.dev.EnableContext(0);
  f.dev.Resume(0);
  f.dev.Push(0, CopyIn(host, 0, 64, 50, 0, kLast));
  f.dev.Ring(0);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 50);
}

TEST_CASE("a device reset in flight leaves a clean device", "[error]") {
  Fixture f;
  uint64_t host = f.dev.Alloc(1 << 20);
  f.dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL, 0, 10000);
  for (uint32_t i = 1; i <= 5; i++) {
    f.dev.Push(0, CopyIn(host, 0, 1 << 20, i, 0, kLast));
    f.dev.Push(1, CopyOut(host, 0, 1 << 20, i + 10, 0, kLast));
  }
  f.dev.Ring(0);
  f.dev.Ring(1);
  f.machine.Step(150000);
  uint64_t before = f.dev.R64(AXL_REG_CLK_NOW);
  f.dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  uint64_t produced = f.dev.TraceHeader(0).produced;
  uint32_t message = f.dev.Messages(AXL_MSIX_QUEUE(0));
  (void)message;
  f.machine.Step(10000000);
  CHECK(f.dev.R64(AXL_REG_CLK_NOW) >= before + 10000000);  // the clock goes on
  CHECK(f.dev.R32(AXL_REG_CTRL) == 0);
  CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) == 0);
  CHECK(f.dev.TraceHeader(0).produced == produced);
  CHECK(f.dev.R32(AXL_REG_TR_STATUS(0)) == 0);
  Counters c = f.dev.Latch();
  for (unsigned i = 0; i < AXL_NUM_COUNTERS; i++) {
    bool time = i == AXL_CTR_ELAPSED;
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) time |= i == AXL_CTR_ENGINE(e) + 7u;
    INFO("counter " << i);
    CHECK((c[i] == 0) == !time);
  }
  // The device works again.
  axl_cqe cqe;
  f.dev.Enable();
  f.dev.EnableContext(0);
  f.dev.Resume(0);
  f.dev.Push(0, CopyIn(host, 0, 4096, 99, 0, kLast));
  f.dev.Ring(0);
  REQUIRE(f.dev.Await(0, &cqe));
  CHECK(cqe.job == 99);
}

}  // namespace acceltrace::device
