// SPDX-License-Identifier: Apache-2.0
//
// Checks every counter against known traffic. Each value is derived by hand from the equations of
// docs/device-model.md; a counter without a line fails.
#include <map>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

const char* const kName[] = {AXL_COUNTERS(AXL_COUNTER_NAME_)};

using Expected = std::map<unsigned, uint64_t>;

// A job on each engine, a correctable error and a slower link.
void RunKnownTraffic(Device* dev, uint64_t host) {
  axl_cqe cqe;
  auto run = [&](unsigned q, axl_desc d) {
    d.flags |= kLast;
    dev->Push(q, d);
    dev->Ring(q);
    REQUIRE(dev->Await(q, &cqe));
    REQUIRE(cqe.status == AXL_ST_OK);
  };
  run(0, CopyIn(host, 0, 4096, 1));                  // 8 reads, 16 completions
  run(1, CopyOut(host + 128, 0, 4096, 2));           // 17 writes: 128 + 15 * 256 + 128
  run(0, Matmul(0, 0x4000, 0x8000, 32, 32, 32, 3));  // 32 + 32 + 62 cycles
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, 4);
  d.vector.rows = 1;
  d.vector.cols = 3200;
  d.vector.dst = AXL_SCRATCHPAD_BASE;
  d.signal_sem = 5;
  d.signal_value = 1;
  run(1, d);  // 100 steps of 32 lanes
  CHECK(dev->Set("fault-ecc", 7));
  CHECK(dev->Set("link-speed", 2));
}

// The expected increase of each counter in this time; the matrix engine's busy cycles, which the
// test case checks separately, are taken as read.
Expected ExpectedOf(const Counters& c, uint64_t elapsed) {
  Expected want;
  for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
    unsigned n = AXL_CTR_ENGINE(e);
    for (unsigned i = 0; i < 8; i++) want[n + i] = 0;
    want[n + 5] = 100;  // dispatch
    want[n + 8] = 1;    // commands
  }
  // Copies: cycles of 64 bytes are busy, the rest of the wire time is the link's.
  uint64_t cpld_wire = 4096 + 16 * (12 + 8) + 8 * 4, mwr_wire = 4096 + 17 * (16 + 8);
  want[AXL_CTR_H2D_BUSY] = 64;
  want[AXL_CTR_H2D_STALL_PCIE] = 1000 + (cpld_wire + 7) / 8 - 64;
  want[AXL_CTR_D2H_BUSY] = 64;
  want[AXL_CTR_D2H_STALL_MEMORY] = 60;
  want[AXL_CTR_D2H_STALL_PCIE] = (mwr_wire + 7) / 8 - 64;
  want[AXL_CTR_MATRIX_STALL_MEMORY] = 60;
  want[AXL_CTR_MATRIX_BUSY] = c[AXL_CTR_MATRIX_BUSY];  // with the next: all of the streaming
  want[AXL_CTR_VECTOR_STALL_MEMORY] = 60;
  want[AXL_CTR_VECTOR_BUSY] = 100;
  want[AXL_CTR_ELAPSED] = elapsed;
  want[AXL_CTR_JOBS] = want[AXL_CTR_DOORBELLS] = want[AXL_CTR_DESC_FETCHED] = 4;
  want[AXL_CTR_INTERRUPTS] = 4 + 2;  // errors corrected, link
  want[AXL_CTR_H2D_BYTES] = want[AXL_CTR_D2H_BYTES] = 4096;
  want[AXL_CTR_MATRIX_MACS] = 32 * 32 * 32;
  want[AXL_CTR_VECTOR_ELEMENTS] = 3200;
  // Bursts of 64: copies 64 each, three operands of the matmul 64 each.
  want[AXL_CTR_DRAM_READ_BYTES] = want[AXL_CTR_DRAM_WRITE_BYTES] = 0;
  want[AXL_CTR_DRAM_READ_BYTES] = 4096 + 2 * 4096;
  want[AXL_CTR_DRAM_WRITE_BYTES] = 4096 + 4096;
  want[AXL_CTR_DRAM_USEFUL_BYTES] = 5 * 4096;
  want[AXL_CTR_DRAM_BURSTS] = 5 * 64;
  // Rows of 2 KiB: 0 and 1 (copies and A), 8 and 9 (B), 16 and 17 (C, in the banks of A).
  want[AXL_CTR_DRAM_ROW_MISSES] = 4;
  want[AXL_CTR_DRAM_ROW_CONFLICTS] = 2;
  want[AXL_CTR_DRAM_ROW_HITS] = 5 * 64 - 6;
  want[AXL_CTR_SCRATCH_BYTES] = 3200 * 4;
  want[AXL_CTR_PCIE_RX_PAYLOAD] = 4096 + 4 * 128;
  want[AXL_CTR_PCIE_TX_PAYLOAD] = 4096 + 4 * 32;
  want[AXL_CTR_PCIE_TX_MRD] = 8 + 4;
  want[AXL_CTR_PCIE_RX_CPLD] = 16 + 4;
  want[AXL_CTR_PCIE_TX_MWR] = 17 + 4 + 6;
  want[AXL_CTR_PCIE_RX_WIRE] = 4096 + 4 * 128 + 20 * (12 + 8) + (12 + 27) * 4;
  want[AXL_CTR_PCIE_TX_WIRE] = 4096 + 4 * 32 + 6 * 4 + (12 + 27) * (16 + 8) + 20 * 4;
  want[AXL_CTR_PCIE_TAG_STALL] = 0;
  want[AXL_CTR_TRACE_RECORDS] = want[AXL_CTR_TRACE_LOST] = 0;
  want[AXL_CTR_SEM_SIGNALS] = 1;
  want[AXL_CTR_ECC_CORRECTED] = 7;
  want[AXL_CTR_LINK_RETRAINS] = 1;
  for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
    uint64_t used = 0;
    for (unsigned i = 0; i < 7; i++) used += want[AXL_CTR_ENGINE(e) + i];
    want[AXL_CTR_ENGINE(e) + 7] = elapsed - used;
  }
  return want;
}

// By context: 0 copied in and multiplied, 1 copied out and filled.
void CheckContexts(Device* dev, const Counters& c) {
  Counters zero = dev->ContextCounters(0), one = dev->ContextCounters(1);
  for (unsigned n : {AXL_CTR_H2D_BYTES, AXL_CTR_MATRIX_MACS, AXL_CTR_H2D_STALL_PCIE}) {
    CHECK(zero[n] == c[n]);
    CHECK(one[n] == 0);
  }
  for (unsigned n : {AXL_CTR_D2H_BYTES, AXL_CTR_VECTOR_ELEMENTS, AXL_CTR_SEM_SIGNALS}) {
    CHECK(one[n] == c[n]);
    CHECK(zero[n] == 0);
  }
  CHECK(zero[AXL_CTR_JOBS] == 2);
  CHECK(one[AXL_CTR_JOBS] == 2);
  CHECK(one[AXL_CTR_ECC_CORRECTED] == 0);  // of the device only
}

}  // namespace

TEST_CASE("known traffic gives every counter its value", "[counters]") {
  // 1 tick = 1 ns. 8 lanes of generation 3: 1024 bits in 130 per ns and lane / 8.
  Machine machine(
      {"-device",
       "axl,id=axl0,bus=rp0,clock-ppm=0,pcie-mps=256,pcie-mrrs=512,pcie-latency-ns=1000,"
       "dispatch-ns=100,dram-latency-ns=60,link-retrain-ns=0,pcie-bandwidth=8000,"
       "dram-bandwidth=1000000"});
  Device dev(&machine);
  dev.Enable();
  for (unsigned c : {0u, 1u}) dev.EnableContext(c);
  dev.SetUpQueue(0, 0);
  dev.SetUpQueue(1, 1);
  uint64_t host = dev.Alloc(1 << 16);
  dev.W32(AXL_REG_CTR_LATCH, 1);
  Counters before = dev.Latch();
  int64_t from = machine.now_ns();
  RunKnownTraffic(&dev, host);
  machine.Step(5000);
  Counters c = dev.Latch();
  uint64_t elapsed = static_cast<uint64_t>(machine.now_ns() - from);

  const Expected want = ExpectedOf(c, elapsed);
  CHECK(c[AXL_CTR_MATRIX_BUSY] == 32 + 32 + 62);
  REQUIRE(want.size() == AXL_NUM_COUNTERS);
  for (const auto& [n, value] : want) {
    INFO(kName[n]);
    CHECK(c[n] - before[n] == value);
  }
  CheckContexts(&dev, c);
}

}  // namespace acceltrace::device
