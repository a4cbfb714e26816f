// SPDX-License-Identifier: Apache-2.0
//
// Each fault as a property on the command line acts as at run time, from the first command on.
#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& fault)
      : machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,clock-offset=0," + fault}),
        dev(&machine) {
    dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL);
    dev.Enable();
    dev.EnableContext(0);
    dev.SetUpQueue(0, 0);
  }
  bool Run(axl_desc d) {
    d.flags |= kLast;
    dev.Push(0, d);
    dev.Ring(0);
    cqe = {};
    return dev.Await(0, &cqe, 20000000);
  }
  bool Nop(uint32_t job) { return Run(Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job)); }
  uint32_t Causes() { return dev.R32(AXL_REG_INT_STATUS); }
  Machine machine;
  Device dev;
  axl_cqe cqe = {};
};

}  // namespace

TEST_CASE("completion faults set at start hit the first completions", "[start]") {
  SECTION("lost interrupt") {
    Fixture f("fault-lose-irqs=1");
    REQUIRE(f.Nop(1));
    CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) == 0);
    REQUIRE(f.Nop(2));
    CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) != 0);
  }
  SECTION("late interrupt") {
    Fixture f("fault-late-irqs=1,fault-late-irq-ns=5000000");
    REQUIRE(f.Nop(1));
    CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) == 0);
    f.machine.Step(5000000);
    CHECK(f.dev.Messages(AXL_MSIX_QUEUE(0)) != 0);
  }
  SECTION("duplicate") {
    Fixture f("fault-dup-completions=1");
    REQUIRE(f.Nop(1));
    axl_cqe again = {};
    REQUIRE(f.dev.Poll(0, &again));
    CHECK(again.job == 1);
    CHECK_FALSE(f.dev.Poll(0, &again));
  }
  SECTION("corrupt") {
    Fixture f("fault-corrupt-completions=1");
    REQUIRE(f.Nop(1));
    CHECK(f.cqe.job == (1 ^ 0xdeadbeef));
    REQUIRE(f.Nop(2));
    CHECK(f.cqe.job == 2);
  }
}

TEST_CASE("command faults set at start hit the first commands", "[start]") {
  SECTION("hung engine") {
    Fixture f("fault-hang-engine=3");
    CHECK_FALSE(f.Nop(9));
    CHECK(f.dev.R32(AXL_REG_ENG_JOB(AXL_ENGINE_VECTOR)) == 9);
  }
  SECTION("failed DMA") {
    Fixture f("fault-fail-dmas=1");
    REQUIRE(f.Run(CopyIn(f.dev.Alloc(64), 0, 64, 1)));
    CHECK(f.cqe.status == AXL_ST_DMA_ERROR);
  }
  SECTION("poison") {
    Fixture f("fault-poison=1");
    REQUIRE(f.Nop(1));
    CHECK(f.cqe.status == AXL_ST_POISONED);
  }
}

TEST_CASE("what happens at once happens when a device of such a start is enabled", "[start]") {
  SECTION("corrected memory errors") {
    Fixture f("fault-ecc=3");
    CHECK((f.Causes() & AXL_INT_ECC) != 0);
    CHECK(f.dev.Messages(AXL_MSIX_DEVICE) != 0);
    CHECK(f.dev.Latch()[AXL_CTR_ECC_CORRECTED] == 3);
    f.dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    f.dev.Enable();
    CHECK(f.dev.Latch()[AXL_CTR_ECC_CORRECTED] == 0);
  }
  SECTION("a jump of the clock") {
    Fixture f("fault-clock-step=1000000000000");
    CHECK(f.dev.R64(AXL_REG_CLK_NOW) == 1000000000000u + static_cast<uint64_t>(f.machine.now_ns()));
  }
}

TEST_CASE("lasting faults set at start last", "[start]") {
  SECTION("stalled trace rings") {
    Fixture f("fault-trace-stall=1");
    REQUIRE(f.Nop(1));
    f.machine.Step(10000);
    CHECK(f.dev.TraceHeader(0).produced == 0);
    CHECK(f.dev.R64(AXL_REG_TR_LOST(0)) == 3);  // doorbell, command, job
  }
  SECTION("throttled") {
    Fixture f("throttle-permille=500");
    CHECK((f.dev.R32(AXL_REG_STATUS) & AXL_STATUS_THROTTLED) != 0);
    REQUIRE(f.Run(Matmul(0, 0x100000, 0x200000, 256, 256, 256, 1)));
    Counters c = f.dev.Latch();
    uint64_t streamed = c[AXL_CTR_MATRIX_BUSY] + c[AXL_CTR_MATRIX_STALL_THROTTLE];
    CHECK(c[AXL_CTR_MATRIX_STALL_THROTTLE] >= streamed / 2 - 100);
  }
  SECTION("a link trained down") {
    Fixture f("link-speed=1,link-width=2");
    CHECK((f.dev.R32(AXL_REG_STATUS) & AXL_STATUS_LINK_DEGRADED) != 0);
    CHECK((f.dev.Config(f.dev.ExpressCap() + 0x10) >> 16 & 0x3ff) == (1 | 2 << 4));
  }
}

TEST_CASE("a device may be absent from the start, and come", "[start]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0,fault-removed=1"});
  CHECK(Device(&machine).Config(0) == 0xffffffff);
  REQUIRE(machine.Set("/machine/peripheral/axl0", "fault-removed", 0));
  Device dev(&machine);
  CHECK(dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
}

}  // namespace acceltrace::device
