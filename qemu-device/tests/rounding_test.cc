// SPDX-License-Identifier: Apache-2.0
//
// Rounding to whole ticks: the same work on a clock that counts every ns and on one whose ticks are
// longer than most commands. Each part of each command must be within the bounds of
// docs/device-counters.md, and their sums must not be biased.
#include <cmath>
#include <map>
#include <utility>

#include "qemu-device/tests/workload.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr unsigned kQueues = 3, kBusy = AXL_NUM_STALLS;

struct Parts {
  double start = 0, ran = 0;
  double part[AXL_NUM_STALLS + 1] = {};
};

// By job and index; in ticks.
std::map<std::pair<uint32_t, uint32_t>, Parts> Run(uint32_t seed, const std::string& hz) {
  Machine machine({"-device", "axl,id=axl0,bus=rp0,clock-hz=" + hz + ",clock-ppm=0"});
  Device dev(&machine);
  dev.Enable();
  dev.EnableContext(0);
  for (unsigned q = 0; q < kQueues; q++) dev.SetUpQueue(q, 0);
  dev.SetUpTrace(0, 12, AXL_REC_CLASS(AXL_REC_CMD));
  const uint64_t host = dev.Alloc(1 << 20);
  Workload work(seed, host, 1 << 20);
  std::map<std::pair<uint32_t, uint32_t>, Parts> seen;
  uint32_t job = 0;
  for (int round = 0; round < 20; round++) {
    for (unsigned q = 0; q < kQueues; q++) {
      job++;
      for (uint32_t i = 0; i < 5; i++) {
        std::vector<axl_sg> none;
        axl_desc d = work.Next(0, &none);
        d.job = job;
        d.index = i;
        dev.Push(q, d);
      }
      dev.Push(q, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, 5, kLast));
      dev.Ring(q);
    }
    for (unsigned q = 0; q < kQueues; q++) {
      axl_cqe cqe;
      REQUIRE(dev.Await(q, &cqe));
    }
    machine.Step(2000);
    for (const axl_record& r : dev.Records(0)) {
      if (r.h.type != AXL_REC_CMD) continue;
      Parts& parts = seen[{r.cmd.job, r.cmd.index}];
      parts.start = static_cast<double>(r.cmd.start);
      parts.ran = parts.part[kBusy] = static_cast<double>(r.cmd.end - r.cmd.start);
      for (unsigned i = 0; i < AXL_NUM_STALLS; i++) {
        if (i == AXL_STALL_SEMAPHORE) continue;
        parts.part[i] = r.cmd.stall[i];
        parts.part[kBusy] -= r.cmd.stall[i];
      }
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("parts of a command are whole ticks that miss little", "[counters]") {
  for (const auto& [hz, ticks_per_ns] : std::map<std::string, double>{
           {"1000000", 1e-3}, {"24576000", 0.024576}, {"312500000", 0.3125}}) {
    const auto fine = Run(7, "1000000000"), coarse = Run(7, hz);
    REQUIRE(fine.size() == coarse.size());
    REQUIRE(fine.size() > 300);
    double over = 0, under = 0, sum = 0, should = 0;
    for (const auto& [key, is] : coarse) {
      const Parts& truth = fine.at(key);
      // The rounding of the fine clock itself.
      const double slack = 2 * ticks_per_ns + 1e-6;
      for (unsigned i = 0; i <= AXL_NUM_STALLS; i++) {
        const double error = is.part[i] - truth.part[i] * ticks_per_ns;
        over = std::max(over, error - slack);
        under = std::max(under, -error - slack);
      }
      sum += is.part[kBusy];
      should += truth.part[kBusy] * ticks_per_ns;
    }
    CAPTURE(hz, sum, should);
    CHECK(over <= 1);
    CHECK(under < 2);
    // Observed: up to 0.17 tick per command below the true value, at 312.5 MHz. There each command
    // begins with 37.5 ticks of dispatch, and a tick goes to the cause that has been owed longest:
    // dispatch gets 0.20 too much, and the last cause, computing, too little, since debts end with
    // their command. All parts together are biased by 0.01 at most. Rounding down would be biased
    // by half a tick.
    const auto commands = static_cast<double>(coarse.size());
    CHECK(std::abs(sum - should) < 0.25 * commands);
  }
}

}  // namespace acceltrace::device
