// SPDX-License-Identifier: Apache-2.0
//
// The timestamp clock: frequency, error, offset, width, steps, ramps, latch and
// cross-timestamp. Under qtest the guest's TSC is the virtual clock.
#include <cmath>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0" + properties}), dev(&machine) {}
  uint64_t Now() { return dev.R64(AXL_REG_CLK_NOW); }
  Machine machine;
  Device dev;
};

}  // namespace

TEST_CASE("ticks follow frequency, ppm and offset exactly", "[clock]") {
  struct {
    const char* props;
    long double hz;
    uint64_t offset;
  } cases[] = {
      {",clock-ppm=0,clock-offset=0", 1e9L, 0},
      {",clock-hz=250000000,clock-ppm=100,clock-offset=12345", 250000000 * 1.0001L, 12345},
      {",clock-hz=1234567890,clock-ppm=-37,clock-ppb=250,clock-offset=0",
       1234567890 * (1 - 37e-6L + 250e-9L), 0},
      {",clock-hz=3999999999,clock-ppm=1000,clock-offset=5", 3999999999 * 1.001L, 5},
  };
  for (const auto& c : cases) {
    INFO(c.props);
    Fixture f(c.props);
    for (int64_t step : {0ll, 1ll, 7ll, 1000ll, 123456789ll, 10000000000ll, 86400000000000ll}) {
      f.machine.Step(step);
      long double want = f.machine.now_ns() * c.hz / 1e9L + c.offset;
      // Frequencies are stored in microhertz.
      long double slack = 1 + static_cast<long double>(f.machine.now_ns()) * 1e-15L;
      CHECK(std::fabs(static_cast<double>(f.Now() - want)) <= static_cast<double>(slack));
    }
  }
}

TEST_CASE("the clock wraps at its width", "[clock]") {
  Fixture f(",clock-bits=24,clock-ppm=0,clock-offset=16777200");
  CHECK(f.Now() == 16777200);
  f.machine.Step(15);
  CHECK(f.Now() == 16777215);
  f.machine.Step(1);
  CHECK(f.Now() == 0);
  f.machine.Step(3 * (1 << 24) + 5);
  CHECK(f.Now() == 5);
  // A command across the wrap: differences modulo the width are right.
  f.machine.Step((1 << 24) - 500 - 5);
  f.dev.Enable();
  f.dev.EnableContext(0);
  f.dev.SetUpQueue(0, 0);
  f.dev.SetUpTrace(0, 6, AXL_REC_CLASSES_ALL);
  axl_cqe cqe;
  f.dev.Push(0, CopyIn(f.dev.Alloc(4096), 0, 4096, 1, 0, kLast));
  f.dev.Ring(0);
  REQUIRE(f.dev.Await(0, &cqe));
  f.machine.Step(2000);
  for (const axl_record& r : f.dev.Records(0)) {
    if (r.h.type != AXL_REC_CMD) continue;
    CHECK(r.cmd.start < (1u << 24));
    uint64_t life = (r.cmd.end - r.cmd.fetched) & 0xffffff;
    CHECK(life > 700);
    CHECK(life < 5000);
  }
}

TEST_CASE("a step moves what is read and nothing that is counted", "[clock]") {
  Fixture f(",clock-ppm=0,clock-offset=1000000");
  f.dev.SetUpTrace(0, 6, AXL_REC_CLASS(AXL_REC_EVENT));
  f.machine.Step(5000);
  CHECK(f.dev.Set("fault-clock-step", 123456));
  CHECK(f.Now() == 1005000 + 123456);
  CHECK(f.dev.Set("fault-clock-step", -200000));
  CHECK(f.Now() == 1005000 + 123456 - 200000);
  CHECK(f.dev.Latch()[AXL_CTR_ELAPSED] == 5000);
  f.machine.Step(2000);
  std::vector<axl_record> r = f.dev.Records(0);
  REQUIRE(r.size() == 2);
  CHECK(r[0].event.event == AXL_EV_CLOCK);
  CHECK(r[0].event.arg[0] == 1000000000000);
  CHECK(r[0].event.arg[1] == 1005000);
  CHECK(r[0].h.time == 1005000 + 123456);
}

TEST_CASE("a job's first start and last end are those, wherever the clock was set", "[clock]") {
  // Before the start, a little back, ahead by more than half of the clock's range.
  const int64_t steps[] = {-100000000, -12000, -5000, -700, 1 << 30, (1ll << 32) - 5000};
  for (const int64_t step : steps) {
    INFO(step);
    Fixture f(",clock-ppm=0,clock-bits=32,clock-offset=200000000");
    f.dev.Enable();
    f.dev.EnableContext(0);
    f.dev.SetUpQueue(0, 0);
    f.dev.SetUpTrace(0, 6, AXL_REC_CLASSES_ALL);
    const uint64_t host = f.dev.Alloc(1 << 20);
    f.dev.Push(0, CopyIn(host, 0, 1 << 16, 1, 0, 0));
    f.dev.Push(0, CopyIn(host, 0, 1 << 15, 1, 1, 0));
    f.dev.Push(0, CopyIn(host, 0, 1 << 12, 1, 2, kLast));
    f.dev.Ring(0);
    // Step while the second command runs.
    while (f.dev.TraceHeader(0).produced < 2) f.machine.Step(1000);
    f.machine.Step(1000);
    CHECK(f.dev.Set("fault-clock-step", step));
    axl_cqe cqe;
    REQUIRE(f.dev.Await(0, &cqe));
    f.machine.Step(3000);
    std::vector<axl_rec_cmd> commands;
    axl_rec_job job = {};
    for (const axl_record& r : f.dev.Records(0)) {
      if (r.h.type == AXL_REC_CMD) commands.push_back(r.cmd);
      if (r.h.type == AXL_REC_JOB) job = r.job;
    }
    REQUIRE(commands.size() == 3);
    CHECK(static_cast<uint32_t>(commands[1].end - commands[1].start - step) < 60000);
    CHECK(job.first_start == commands[0].start);
    CHECK(job.last_end == commands[2].end);
  }
}

TEST_CASE("a change of frequency is continuous, at once or along a ramp", "[clock]") {
  Fixture f(",clock-ppm=0,clock-offset=0");
  f.machine.Step(1000);
  CHECK(f.dev.Set("clock-hz", 500000000));
  CHECK(f.Now() == 1000);
  f.machine.Step(1000);
  CHECK(f.Now() == 1500);
  CHECK(f.dev.Set("clock-ppm", 1000));
  f.machine.Step(1000000);
  CHECK(f.Now() == 1500 + 500500);
  CHECK(f.dev.Set("clock-ppm", 0));
  uint64_t from = f.Now();
  CHECK(f.dev.Set("clock-ramp-ns", 640000));
  CHECK(f.dev.Set("clock-hz", 1000000000));
  f.machine.Step(640000);
  // 64 steps from 0.5 to 1 GHz: the mean of the ramp, less half a step.
  CHECK(f.Now() - from == Approx(640000 * (0.75 - 0.25 / 64)).epsilon(1e-4));
  from = f.Now();
  f.machine.Step(1000);
  CHECK(f.Now() - from == 1000);
}

TEST_CASE("latch and cross-timestamp are of one instant", "[clock]") {
  Fixture f(",clock-ppm=37,clock-offset=99");
  CHECK(f.dev.R32(AXL_REG_PTM_STATUS) == 0);
  f.machine.Step(123457);
  f.dev.W32(AXL_REG_CLK_LATCH, 1);
  uint64_t at = f.Now();
  f.dev.W32(AXL_REG_PTM_TRIGGER, 1);
  f.machine.Step(5000);
  CHECK(f.dev.R64(AXL_REG_CLK_LATCHED) == at);
  CHECK(f.dev.R32(AXL_REG_PTM_STATUS) == 1);
  CHECK(f.dev.R64(AXL_REG_PTM_DEVICE) == at);
  CHECK(f.dev.R64(AXL_REG_PTM_HOST) == 123457);
}

TEST_CASE("counters freeze together and lose nothing else", "[clock]") {
  Fixture f(",clock-ppm=0");
  f.dev.Enable();
  f.dev.EnableContext(0);
  f.dev.SetUpQueue(0, 0);
  axl_cqe cqe;
  auto copy = [&](uint32_t job) {
    f.dev.Push(0, CopyIn(0x1000000, 0, 4096, job, 0, kLast));
    f.dev.Ring(0);
    REQUIRE(f.dev.Await(0, &cqe));
  };
  copy(1);
  f.dev.W32(AXL_REG_CTR_CTRL, AXL_CTR_CTRL_FREEZE);
  Counters frozen = f.dev.Latch();
  copy(2);
  f.machine.Step(10000);
  CHECK(f.dev.Latch() == frozen);
  f.dev.W32(AXL_REG_CTR_CTRL, 0);
  f.machine.Step(1000);
  copy(3);
  Counters after = f.dev.Latch();
  CHECK(after[AXL_CTR_H2D_BYTES] == 8192);
  CHECK(after[AXL_CTR_JOBS] == 2);
  for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < 8; i++) sum += after[AXL_CTR_ENGINE(e) + i];
    CHECK(sum == after[AXL_CTR_ELAPSED]);
  }
  CHECK(f.dev.R32(AXL_REG_CTR_SEQ) == 3);
}

}  // namespace acceltrace::device
