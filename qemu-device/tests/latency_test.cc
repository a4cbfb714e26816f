// SPDX-License-Identifier: Apache-2.0
//
// The host may run the device late, but never so late that the guest could
// tell: completions and interrupts come at their own time though nobody reads a
// register meanwhile.
#include "qemu-device/tests/workload.h"
#include "tests/catch.h"

namespace acceltrace::device {

TEST_CASE("a completion is in host memory at its time with no one looking", "[latency]") {
  for (uint32_t seed = 0; seed < 12; seed++) {
    Machine machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,clock-offset=0" +
                                    std::string(seed % 3 ? "" : ",dispatch-ns=10,pcie-gen=6") +
                                    (seed == 5 ? ",pcie-width=1" : "")});
    Device dev(&machine);
    Workload work(seed, 0x2000000, 1 << 20);
    dev.Enable();
    constexpr unsigned kQueues = 3;
    uint64_t ring[kQueues];
    uint32_t head[kQueues] = {}, jobs = 0, seen = 0, messages = 0;
    for (unsigned q = 0; q < kQueues; q++) {
      dev.EnableContext(q);
      dev.SetUpQueue(q, q, 9, 9);
      ring[q] = dev.R64(AXL_REG_Q_CQ_BASE(q));
    }
    for (uint32_t j = 0; j < 12; j++) {
      unsigned q = work.Below(kQueues);
      uint32_t commands = 1 + work.Below(12);
      jobs++;
      for (uint32_t i = 0; i < commands; i++) {
        std::vector<axl_sg> none;
        axl_desc d = work.Next(0, &none);
        d.job = jobs;
        d.index = i;
        if (i + 1 == commands) d.flags |= kLast;
        dev.Push(q, d);
      }
      dev.Ring(q);
    }
    constexpr int64_t kStep = 40;
    for (int64_t at = 0; at < 2000000 && seen < jobs; at += kStep) {
      machine.Step(kStep);
      for (unsigned q = 0; q < kQueues; q++) {
        auto cqe = dev.Get<axl_cqe>(ring[q] + head[q] * sizeof(axl_cqe), 1)[0];
        if (cqe.phase != 1) continue;
        head[q]++;
        seen++;
        int64_t late = machine.now_ns() - static_cast<int64_t>(cqe.time);
        INFO("seed " << seed << " job " << cqe.job);
        CHECK(late >= 0);
        // Several may fall into one step; each is found one step after the other.
        CHECK(late < kStep * 4);
        messages += dev.Messages(AXL_MSIX_QUEUE(q)) != 0;
      }
    }
    CHECK(seen == jobs);
    CHECK(messages > jobs / 2);  // several in one step leave one message
  }
}

}  // namespace acceltrace::device
