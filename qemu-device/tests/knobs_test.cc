// SPDX-License-Identifier: Apache-2.0
//
// Properties changed at run time: the next command follows docs/device-model.md. 1 tick = 1 ns; 180
// ns is dispatch and the first access of memory.
#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  Fixture() : machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,pcie-mps=256"}), dev(&machine) {
    dev.Enable();
    dev.EnableContext(0);
    dev.SetUpQueue(0, 0);
    dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
    host = dev.Alloc(1 << 20);
  }
  double Life(axl_desc d) {
    d.flags |= kLast;
    dev.Push(0, d);
    dev.Ring(0);
    axl_cqe cqe;
    REQUIRE(dev.Await(0, &cqe));
    REQUIRE(cqe.status == AXL_ST_OK);
    machine.Step(3000);
    axl_rec_cmd last = {};
    for (const axl_record& r : dev.Records(0)) last = r.cmd;
    return static_cast<double>(last.end - last.start);
  }
  Machine machine;
  Device dev;
  uint64_t host = 0;
};

// `rows` bursts, each in its own row, round robin over the banks; results to the scratchpad.
axl_desc Scatter(uint32_t rows) {
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_COPY, 1);
  d.vector.rows = rows;
  d.vector.cols = 16;
  d.vector.src0_stride = 512;
  d.vector.dst = AXL_SCRATCHPAD_BASE;
  d.vector.dst_stride = 16;
  return d;
}

}  // namespace

TEST_CASE("DRAM timing turned at run time", "[knobs]") {
  Fixture f;
  REQUIRE(f.dev.Set("dram-rrd-ps", 0));
  REQUIRE(f.dev.Set("dram-miss-ps", 1000000));
  CHECK(f.Life(Scatter(16)) == 180 + 2 + 1000);  // each bank: one burst, one row opened
  // The first of a bank's 16 rows is still open.
  CHECK(f.Life(Scatter(256)) == 180 + 16 * 2 + 15 * 45);
  REQUIRE(f.dev.Set("dram-conflict-ps", 100000));
  CHECK(f.Life(Scatter(256)) == 180 + 16 * (2 + 100));
  REQUIRE(f.dev.Set("dram-rrd-ps", 20000));
  CHECK(f.Life(Scatter(256)) == 180 + 256 * 20);
  REQUIRE(f.dev.Set("dram-latency-ns", 1060));
  CHECK(f.Life(Scatter(256)) == 1180 + 256 * 20);
  REQUIRE(f.dev.Set("dram-bandwidth", 1));  // 64 us a burst
  CHECK(f.Life(Scatter(16)) == 1180 + 16 * 64000);
}

TEST_CASE("vector rate and scratchpad ports turned at run time", "[knobs]") {
  Fixture f;
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, 1);
  d.vector.rows = 1;
  d.vector.cols = 32000;
  d.vector.dst = AXL_SCRATCHPAD_BASE;
  CHECK(f.Life(d) == 180 + 1000);
  REQUIRE(f.dev.Set("vector-rate", 500));
  CHECK(f.Life(d) == 180 + 2000);
  REQUIRE(f.dev.Set("scratch-bandwidth", 32000));
  CHECK(f.Life(d) == 180 + 4000);
}

TEST_CASE("tags and payload sizes turned at run time", "[knobs]") {
  Fixture f;
  axl_desc d = CopyIn(f.host, 0, 65536, 1);
  double rate = 16.0 * 128 / 130;           // generation 4, 8 lanes
  double each = (512 + 2 * 20 + 4) / rate;  // a read of 512, two completions
  REQUIRE(f.dev.Set("pcie-tags", 4));       // 128 reads: 31 rounds and 4 left
  CHECK(f.Life(d) == Approx(720 + 31 * 600 + (31 + 128 - 124) * each).epsilon(0.0002));
  REQUIRE(f.dev.Set("pcie-mrrs", 4096));  // 4 of these cover the round trip
  CHECK(f.Life(d) == Approx(720 + 16 * (4096 + 16 * 20 + 4) / rate).epsilon(0.0002));
  REQUIRE(f.dev.Set("pcie-mps", 128));
  CHECK(f.Life(d) == Approx(720 + 16 * (4096 + 32 * 20 + 4) / rate).epsilon(0.0002));
  CHECK_FALSE(f.dev.Set("pcie-mps", 200));
}

}  // namespace acceltrace::device
