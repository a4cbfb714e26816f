// SPDX-License-Identifier: Apache-2.0
//
// Switches on each fault at run time; the driver must see what docs/device.md specifies.

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0,link-retrain-ns=5000" + properties}),
        dev(&machine) {
    dev.Enable();
    dev.EnableContext(0);
    dev.SetUpQueue(0, 0);
    dev.SetUpTrace(0, 10, AXL_REC_CLASSES_ALL);
    host = dev.Alloc(4 << 20);
  }
  axl_cqe Run(axl_desc d) {
    axl_cqe cqe = {};
    d.job = ++job;
    d.flags |= kLast;
    dev.Push(0, d);
    dev.Ring(0);
    REQUIRE(dev.Await(0, &cqe));
    return cqe;
  }
  axl_desc Nop() { return Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1); }
  // The record of the last command; times are in ns of run time.
  axl_rec_cmd Last() {
    machine.Step(3000);
    axl_rec_cmd last = {};
    for (const axl_record& r : dev.Records(0)) {
      if (r.h.type == AXL_REC_CMD) last = r.cmd;
    }
    return last;
  }
  bool Message() { return dev.Messages(AXL_MSIX_QUEUE(0)) != 0; }
  Machine machine;
  Device dev;
  uint64_t host = 0;
  uint32_t job = 0;
};

}  // namespace

TEST_CASE("a lost interrupt: the completion is there, the message is not", "[fault]") {
  Fixture f;
  CHECK(f.dev.Set("fault-lose-irqs", 2));
  for (int i = 0; i < 2; i++) {
    CHECK(f.Run(f.Nop()).status == AXL_ST_OK);
    f.machine.Step(1000000);
    CHECK_FALSE(f.Message());
  }
  f.Run(f.Nop());
  CHECK(f.Message());
  int lost = 0;
  f.machine.Step(2000);
  for (const axl_record& r : f.dev.Records(0)) lost += r.h.type == AXL_REC_JOB && r.job.irq == 0;
  CHECK(lost == 2);
}

TEST_CASE("a late interrupt comes late, and only it", "[fault]") {
  Fixture f;
  CHECK(f.dev.Set("fault-late-irq-ns", 300000));
  CHECK(f.dev.Set("fault-late-irqs", 1));
  f.Run(f.Nop());
  CHECK_FALSE(f.Message());
  f.machine.Step(100000);
  CHECK_FALSE(f.Message());
  f.machine.Step(300000);
  CHECK(f.Message());
  f.Run(f.Nop());
  CHECK(f.Message());
  f.machine.Step(2000);
  for (const axl_record& r : f.dev.Records(0)) {
    if (r.h.type == AXL_REC_JOB && r.job.job == 1) {
      CHECK(static_cast<double>(r.job.irq - r.job.completion) == Approx(300000).epsilon(1e-3));
    }
  }
}

TEST_CASE("a duplicate completion is the same entry twice", "[fault]") {
  Fixture f;
  CHECK(f.dev.Set("fault-dup-completions", 1));
  axl_cqe first = f.Run(f.Nop()), second = {};
  REQUIRE(f.dev.Poll(0, &second));
  CHECK(first.job == second.job);
  CHECK(first.correlation == second.correlation);
  CHECK(f.Run(f.Nop()).job == 2);
}

TEST_CASE("a corrupt completion names a job that is not", "[fault]") {
  Fixture f;
  CHECK(f.dev.Set("fault-corrupt-completions", 1));
  axl_cqe c = f.Run(f.Nop());
  CHECK(c.job == (1 ^ 0xdeadbeef));
  CHECK(c.status == 0xffff);
  CHECK(f.Run(f.Nop()).job == 2);
}

TEST_CASE("a hung engine stays busy until its context is reset", "[fault]") {
  Fixture f;
  axl_cqe cqe;
  CHECK(f.dev.Set("fault-hang-engine", AXL_ENGINE_VECTOR));
  axl_desc d = f.Nop();
  d.job = ++f.job;
  d.flags = kLast;
  f.dev.Push(0, d);
  f.dev.Ring(0);
  CHECK_FALSE(f.dev.Await(0, &cqe, 10000000));
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 1);
  CHECK((f.dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_BUSY) != 0);
  f.dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET | AXL_CTX_ENABLE);
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 0);
  f.dev.Resume(0);
  CHECK(f.Run(f.Nop()).status == AXL_ST_OK);
}

TEST_CASE("a stuck context reset leaves all as it is, but for a device reset", "[fault]") {
  Fixture f;
  axl_cqe cqe;
  f.dev.EnableContext(1);
  f.dev.SetUpQueue(1, 1);
  CHECK(f.dev.Set("fault-stuck-ctx-resets", 1));
  CHECK(f.dev.Set("fault-hang-engine", AXL_ENGINE_VECTOR));
  f.dev.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 7, 0, kLast));
  f.dev.Ring(0);
  CHECK_FALSE(f.dev.Await(0, &cqe, 10000000));
  for (uint32_t v : {AXL_CTX_RESET, 0u, AXL_CTX_RESET | AXL_CTX_ENABLE}) {
    f.dev.W32(AXL_REG_CTX_CTRL(0), v);
    f.machine.Step(1000000);
    CHECK(f.dev.R32(AXL_REG_CTX_CTRL(0)) == (AXL_CTX_RESET | AXL_CTX_ENABLE));
    CHECK((f.dev.R32(AXL_REG_CTX_STATUS(0)) & AXL_CTX_BUSY) != 0);
    CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 7);
  }
  // The fault applies once: another context resets normally.
  f.dev.W32(AXL_REG_CTX_CTRL(1), AXL_CTX_RESET | AXL_CTX_ENABLE);
  CHECK(f.dev.R32(AXL_REG_CTX_CTRL(1)) == AXL_CTX_ENABLE);
  f.dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  CHECK(f.dev.R32(AXL_REG_CTX_CTRL(0)) == 0);
  CHECK(f.dev.R32(AXL_REG_CTX_STATUS(0)) == 0);
  CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 0);
  f.dev.Enable();
  f.dev.EnableContext(0);
  f.dev.Resume(0);
  f.dev.ResumeTrace(0);
  CHECK(f.Run(f.Nop()).status == AXL_ST_OK);
}

TEST_CASE("a failed DMA and poisoned data halt the context", "[fault]") {
  Fixture f;
  for (auto [fault, status, desc] :
       {std::tuple{"fault-fail-dmas", AXL_ST_DMA_ERROR, CopyIn(f.host, 0, 4096, 1)},
        std::tuple{"fault-poison", AXL_ST_POISONED, f.Nop()}}) {
    CHECK(f.dev.Set(fault, 1));
    CHECK(f.Run(desc).status == status);
    CHECK(f.dev.R32(AXL_REG_CTX_ERROR(0)) == status);
    CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_CTX_ERROR) != 0);
    f.dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET | AXL_CTX_ENABLE);
    f.dev.Resume(0);
    CHECK(f.Run(desc).status == AXL_ST_OK);
  }
}

TEST_CASE("the link trains down and up while data flows", "[fault]") {
  Fixture f;
  auto run_ns = [&](axl_desc d) {
    f.Run(d);
    axl_rec_cmd r = f.Last();
    return static_cast<double>(r.end - r.start);
  };
  axl_desc copy = CopyIn(f.host, 0, 1 << 20, 1);
  double fast = run_ns(copy);
  CHECK(f.dev.Set("link-speed", 1));
  f.machine.Step(10000);
  CHECK(run_ns(copy) / fast == Approx(16.0 / 2.5 * (128.0 / 130) / 0.8).epsilon(0.02));
  CHECK(f.dev.Set("link-speed", 0));
  f.machine.Step(10000);
  CHECK(run_ns(copy) == Approx(fast).epsilon(0.001));
  // In the middle of a copy: it pauses while the link retrains, then continues more slowly.
  f.dev.Push(0, [&] {
    copy.job = ++f.job;
    copy.flags = kLast;
    return copy;
  }());
  f.dev.Ring(0);
  f.machine.Step(static_cast<int64_t>(fast / 2));
  CHECK(f.dev.Set("link-width", 4));
  axl_cqe cqe;
  REQUIRE(f.dev.Await(0, &cqe));
  axl_rec_cmd r = f.Last();
  double took = static_cast<double>(r.end - r.start);
  CHECK(took > fast * 1.45 + 5000);
  CHECK(took < fast * 1.6 + 5000);
  int links = 0;
  CHECK(f.dev.Latch()[AXL_CTR_LINK_RETRAINS] == 3);
  (void)links;
}

TEST_CASE("throttling slows the engines and is charged as such", "[fault]") {
  Fixture f;
  axl_desc d = Matmul(0, 0x100000, 0x200000, 256, 256, 256, 1);
  CHECK(f.dev.Set("dram-bandwidth", 1000000));
  f.Run(d);
  axl_rec_cmd full = f.Last();
  CHECK(f.dev.Set("throttle-permille", 250));
  CHECK((f.dev.R32(AXL_REG_STATUS) & AXL_STATUS_THROTTLED) != 0);
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_THROTTLE) != 0);
  f.Run(d);
  axl_rec_cmd slow = f.Last();
  double full_ns = static_cast<double>(full.end - full.start) - 180;
  CHECK(static_cast<double>(slow.end - slow.start) - 180 == Approx(4 * full_ns).epsilon(0.001));
  CHECK(slow.stall[AXL_STALL_THROTTLE] == Approx(3 * full_ns).epsilon(0.001));
  CHECK(slow.limiter == AXL_LIMIT_THROTTLE);
  CHECK(full.limiter == AXL_LIMIT_COMPUTE);
  CHECK(f.dev.Set("throttle-permille", 1000));
  CHECK((f.dev.R32(AXL_REG_STATUS) & AXL_STATUS_THROTTLED) == 0);
}

TEST_CASE("a stalled trace ring loses records and counts them", "[fault]") {
  Fixture f;
  f.Run(f.Nop());
  f.machine.Step(2000);
  uint64_t produced = f.dev.TraceHeader(0).produced;
  CHECK(f.dev.Set("fault-trace-stall", 1));
  for (int i = 0; i < 5; i++) f.Run(f.Nop());
  f.machine.Step(2000);
  CHECK(f.dev.TraceHeader(0).produced == produced);
  CHECK(f.dev.TraceHeader(0).lost == 15);
  CHECK(f.dev.Set("fault-trace-stall", 0));
  f.dev.Records(0);
  f.Run(f.Nop());
  f.machine.Step(2000);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 4);
  CHECK(r[0].h.type == AXL_REC_LOSS);
  CHECK(r[0].loss.lost == 15);
}

TEST_CASE("corrected memory errors interrupt and count", "[fault]") {
  Fixture f;
  CHECK(f.dev.Set("fault-ecc", 3));
  CHECK((f.dev.R32(AXL_REG_INT_STATUS) & AXL_INT_ECC) != 0);
  CHECK(f.dev.Latch()[AXL_CTR_ECC_CORRECTED] == 3);
  CHECK(f.dev.Messages(AXL_MSIX_DEVICE) != 0);
}

TEST_CASE("a removed device answers nothing and touches nothing", "[fault]") {
  Fixture f;
  for (uint32_t i = 0; i < 4; i++) f.dev.Push(0, CopyOut(f.host, 0, 1 << 20, 1 + i, 0, kLast));
  f.dev.Ring(0);
  f.machine.Step(50000);
  CHECK(f.dev.Set("fault-removed", 1));
  CHECK(f.dev.R32(AXL_REG_ID) == 0xffffffff);
  CHECK(f.dev.R64(AXL_REG_CLK_NOW) == UINT64_MAX);
  CHECK(f.dev.Config(0) == 0xffffffff);
  std::vector<uint8_t> mark(1 << 20, 0xa5);
  f.dev.Put(f.host, mark);
  f.dev.W32(AXL_REG_CTRL, AXL_CTRL_ENABLE);
  f.machine.Step(10000000);
  CHECK(f.dev.Get<uint8_t>(f.host, 1 << 20) == mark);
  axl_cqe cqe;
  CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) == 0);
  CHECK(f.dev.Set("fault-removed", 0));
  CHECK(f.dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
  CHECK(f.dev.R32(AXL_REG_CTRL) == 0);
  f.dev.Enable();
  f.dev.EnableContext(0);
  f.dev.Resume(0);
  f.dev.ResumeTrace(0);
  CHECK(f.Run(f.Nop()).status == AXL_ST_OK);
  (void)cqe;
}

TEST_CASE("properties outside their range are refused, fixed ones too", "[fault]") {
  Fixture f;
  CHECK_FALSE(f.dev.Set("pcie-tags", 0));
  CHECK_FALSE(f.dev.Set("throttle-permille", 1001));
  CHECK_FALSE(f.dev.Set("dram-bandwidth", -1));
  CHECK_FALSE(f.dev.Set("queues", 3));
  CHECK_FALSE(f.dev.Set("dram-bytes", 4096));
  CHECK_FALSE(f.dev.Set("pcie-mps", 300));
  CHECK_FALSE(f.dev.Set("pcie-mrrs", 64));
  CHECK_FALSE(f.dev.Set("link-width", 3));
  CHECK_FALSE(f.dev.Set("no-such-knob", 1));
  CHECK(f.Run(f.Nop()).status == AXL_ST_OK);
}

}  // namespace acceltrace::device
