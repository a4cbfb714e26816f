// SPDX-License-Identifier: Apache-2.0
//
// The whole path once: copy in, multiply, copy out, with semaphores in between.
#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {

TEST_CASE("a matmul job goes from host memory to host memory", "[smoke]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  REQUIRE(dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
  REQUIRE(dev.R32(AXL_REG_NUM_COUNTERS) == AXL_NUM_COUNTERS);
  dev.Enable();
  dev.EnableContext(0);
  dev.SetUpQueue(0, 0);
  REQUIRE(dev.R32(AXL_REG_Q_STATUS(0)) == AXL_Q_STATUS_ENABLED);
  dev.SetUpTrace(0, 8, AXL_REC_CLASSES_ALL);

  constexpr uint32_t kM = 5, kN = 19, kK = 33;
  std::vector<float> a(kM * kK), b(kK * kN);
  for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); i++) b[i] = static_cast<float>(i % 5) - 2;
  uint64_t ha = dev.Alloc(a.size() * 4), hb = dev.Alloc(b.size() * 4), hc = dev.Alloc(kM * kN * 4);
  dev.Put(ha, a);
  dev.Put(hb, b);

  axl_desc d = CopyIn(ha, 0x1000, a.size() * 4, 7, 0);
  dev.Push(0, d);
  d = CopyIn(hb, 0x10000, b.size() * 4, 7, 1);
  d.signal_sem = 0;
  d.signal_value = 1;
  dev.Push(0, d);
  d = Matmul(0x1000, 0x10000, 0x20000, kM, kN, kK, 7, 2);
  d.wait_sem[0] = 0;
  d.wait_value[0] = 1;
  d.signal_sem = 1;
  d.signal_value = 1;
  dev.Push(0, d);
  d = CopyOut(hc, 0x20000, kM * kN * 4, 7, 3, kLast);
  d.wait_sem[0] = 1;
  d.wait_value[0] = 1;
  dev.Push(0, d);
  dev.Ring(0);

  axl_cqe cqe;
  REQUIRE(dev.Await(0, &cqe));
  CHECK(cqe.job == 7);
  CHECK(cqe.status == AXL_ST_OK);
  CHECK(cqe.sq_head == 4);
  CHECK(dev.Messages(AXL_MSIX_QUEUE(0)) == (0x5a000000u | AXL_MSIX_QUEUE(0)));
  std::vector<float> c = dev.Get<float>(hc, kM * kN);
  for (uint32_t i = 0; i < kM; i++) {
    for (uint32_t j = 0; j < kN; j++) {
      float sum = 0;
      for (uint32_t k = 0; k < kK; k++) sum += a[i * kK + k] * b[k * kN + j];
      REQUIRE(c[i * kN + j] == sum);
    }
  }

  machine.Step(10000);
  std::vector<axl_record> records = dev.Records(0);
  REQUIRE(records.size() == 6);  // doorbell, four commands, job
  CHECK(records[0].h.type == AXL_REC_DOORBELL);
  CHECK(records[5].h.type == AXL_REC_JOB);
  CHECK(records[5].job.commands == 4);
  Counters ctr = dev.Latch();
  for (int e = 0; e < AXL_NUM_ENGINES; e++) {
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) sum += ctr[AXL_CTR_ENGINE(e) + i];
    CHECK(sum == ctr[AXL_CTR_ELAPSED]);
  }
  CHECK(ctr[AXL_CTR_H2D_BYTES] == (a.size() + b.size()) * 4);
  CHECK(ctr[AXL_CTR_D2H_BYTES] == kM * kN * 4);
  CHECK(ctr[AXL_CTR_MATRIX_MACS] == kM * kN * kK);
  CHECK(machine.Quit() == 0);
}

}  // namespace acceltrace::device
