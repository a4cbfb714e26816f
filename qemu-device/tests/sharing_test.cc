// SPDX-License-Identifier: Apache-2.0
//
// Concurrent commands: how DRAM and link are shared, and which causes lost time is charged to.
#include <map>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,pcie-mps=256" + properties}),
        dev(&machine) {
    dev.Enable();
    for (unsigned q = 0; q < 4; q++) {
      dev.EnableContext(q);
      dev.SetUpQueue(q, q);
    }
    dev.SetUpTrace(0, 8, AXL_REC_CLASS(AXL_REC_CMD));
    host = dev.Alloc(8 << 20);
  }
  // Runs each command on its own queue, all at once; returns the records by queue.
  std::map<unsigned, axl_rec_cmd> Together(std::vector<axl_desc> commands) {
    for (unsigned q = 0; q < commands.size(); q++) {
      commands[q].job = ++job;
      commands[q].flags |= kLast;
      dev.Push(q, commands[q]);
    }
    for (unsigned q = 0; q < commands.size(); q++) dev.Ring(q);
    for (unsigned q = 0; q < commands.size(); q++) {
      axl_cqe cqe;
      REQUIRE(dev.Await(q, &cqe));
      REQUIRE(cqe.status == AXL_ST_OK);
    }
    machine.Step(3000);
    std::map<unsigned, axl_rec_cmd> out;
    for (const axl_record& r : dev.Records(0)) out[r.h.queue] = r.cmd;
    return out;
  }
  Machine machine;
  Device dev;
  uint64_t host = 0;
  uint32_t job = 0;
};

double Life(const axl_rec_cmd& r) { return static_cast<double>(r.end - r.start); }

// 2 MiB read and written by the vector engine: DRAM sets the pace.
axl_desc Stream(uint64_t from) {
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_COPY, 1);
  d.vector.src0 = from;
  d.vector.dst = from + (8 << 20);
  d.vector.rows = 1;
  d.vector.cols = 524288;
  return d;
}

// A matmul of few rows: 4 MiB of weights, no reuse.
axl_desc Thin(uint64_t at) { return Matmul(at, at + 0x10000, at + (8 << 20), 1, 1024, 1024, 1); }

}  // namespace

TEST_CASE("two streams share DRAM evenly, and both are charged to memory", "[sharing]") {
  Fixture f(",dram-bandwidth=8000,matrix-rate=100000,vector-lanes=1024");
  axl_rec_cmd stream = f.Together({Stream(0)})[0], thin = f.Together({Thin(32 << 20)})[0];
  auto both = f.Together({Stream(0), Thin(32 << 20)});
  CHECK(Life(stream) == Approx(4194304 / 8.0 + 180).epsilon(0.001));
  // Equal demands: both take twice as long.
  CHECK(Life(both[0]) == Approx(2 * Life(stream)).epsilon(0.01));
  CHECK(Life(both[1]) == Approx(2 * Life(thin)).epsilon(0.01));
  for (unsigned q : {0u, 1u}) {
    CHECK(both[q].limiter == AXL_LIMIT_MEMORY);
    CHECK(both[q].stall[AXL_STALL_MEMORY] > 0.9 * Life(both[q]));
  }
  // A resource that only one of them can use is not taken from the other.
  CHECK(f.dev.Set("matrix-rate", 100));  // computes 60 % of the time, DRAM still sets the pace
  axl_rec_cmd busy = f.Together({Thin(32 << 20)})[0];
  CHECK(busy.stall[AXL_STALL_MEMORY] < 0.4 * Life(busy));
  CHECK(busy.limiter == AXL_LIMIT_MEMORY);
  CHECK(Life(busy) == Approx(Life(thin)).epsilon(0.01));
  CHECK(f.dev.Set("matrix-rate", 25));  // now its own speed does
  axl_rec_cmd slow = f.Together({Thin(32 << 20)})[0];
  both = f.Together({Stream(0), Thin(32 << 20)});
  CHECK(slow.limiter == AXL_LIMIT_COMPUTE);
  CHECK(Life(both[1]) == Approx(Life(slow)).epsilon(0.01));
}

TEST_CASE("priority weighs in the sharing of DRAM", "[sharing]") {
  Fixture f(",dram-bandwidth=8000,matrix-rate=100000,vector-lanes=1024");
  f.dev.W32(AXL_REG_CTX_PRIORITY(1), 1);  // twice the weight
  auto both = f.Together({Stream(0), Thin(32 << 20)});
  double alone = 4194304 / 8.0;
  // The heavier one runs at 2/3, the other at 1/3 and alone at the end.
  CHECK(Life(both[1]) == Approx(1.5 * alone).epsilon(0.01));
  CHECK(Life(both[0]) == Approx(2 * alone).epsilon(0.01));
}

TEST_CASE("the directions of the link do not disturb each other", "[sharing]") {
  Fixture f;
  axl_rec_cmd in = f.Together({CopyIn(f.host, 0, 1 << 20, 1)})[0];
  axl_rec_cmd out = f.Together({CopyOut(f.host, 0, 1 << 20, 1)})[0];
  auto both = f.Together({CopyIn(f.host, 0, 1 << 20, 1), CopyOut(f.host, 4 << 20, 1 << 20, 1)});
  // Requests and DLLPs of one travel with the data of the other: a few per cent.
  CHECK(Life(both[0]) >= Life(in));
  CHECK(Life(both[0]) <= 1.08 * Life(in));
  CHECK(Life(both[1]) <= 1.08 * Life(out));
  CHECK(both[0].limiter == AXL_LIMIT_PCIE);
}

TEST_CASE("a copy slower than the link for want of DRAM says memory", "[sharing]") {
  Fixture f(",dram-bandwidth=2000");
  axl_rec_cmd in = f.Together({CopyIn(f.host, 0, 1 << 20, 1)})[0];
  CHECK(Life(in) == Approx((1 << 20) / 2.0 + 720).epsilon(0.001));
  CHECK(in.limiter == AXL_LIMIT_MEMORY);
  CHECK(in.stall[AXL_STALL_PCIE] == 600);
}

TEST_CASE("few tags show as tag stall", "[sharing]") {
  Fixture f(",pcie-tags=4");
  axl_rec_cmd in = f.Together({CopyIn(f.host, 0, 1 << 20, 1)})[0];
  CHECK(in.limiter == AXL_LIMIT_TAG);
  CHECK(in.stall[AXL_STALL_TAG] > 0.8 * Life(in));
  CHECK(f.dev.Latch()[AXL_CTR_PCIE_TAG_STALL] == in.stall[AXL_STALL_TAG]);
}

TEST_CASE("waiting for a semaphore is charged to the one who waits", "[sharing]") {
  Fixture f;
  axl_desc copy = CopyIn(f.host, 0, 1 << 20, 1);
  copy.signal_sem = 5;
  copy.signal_value = 1;
  axl_desc wait = Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1);
  wait.wait_sem[1] = 5;
  wait.wait_value[1] = 1;
  auto both = f.Together({copy, wait});
  CHECK(both[1].limiter == AXL_LIMIT_SEMAPHORE);
  CHECK(both[1].start == both[0].end);
  CHECK(both[1].stall[AXL_STALL_SEMAPHORE] == both[1].start - both[1].head);
  CHECK(both[1].head == both[1].fetched);
  f.dev.Latch();
  CHECK(f.dev.ContextCounters(1)[AXL_CTR_VECTOR_STALL_SEMAPHORE] ==
        both[1].stall[AXL_STALL_SEMAPHORE]);
  CHECK(f.dev.ContextCounters(0)[AXL_CTR_VECTOR_STALL_SEMAPHORE] == 0);
}

TEST_CASE("small commands are dispatch-bound", "[sharing]") {
  Fixture f(",dispatch-ns=500");
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, 1);
  d.vector.rows = 1;
  d.vector.cols = 16;
  axl_rec_cmd r = f.Together({d})[0];
  CHECK(r.limiter == AXL_LIMIT_DISPATCH);
  CHECK(r.stall[AXL_STALL_DISPATCH] == 500);
}

TEST_CASE("the scratchpad has ports of its own", "[sharing]") {
  Fixture f(",dram-bandwidth=4000,vector-lanes=1024,matrix-rate=100000");
  axl_desc s = Stream(0);
  s.vector.src0 = AXL_SCRATCHPAD_BASE;
  s.vector.dst = AXL_SCRATCHPAD_BASE + (2 << 20);
  axl_rec_cmd alone = f.Together({s})[0];
  CHECK(alone.dram_bytes == 0);
  CHECK(Life(alone) == Approx(4194304 / 256.0 + 180).epsilon(0.001));
  auto both = f.Together({s, Thin(32 << 20)});
  CHECK(Life(both[0]) == Approx(Life(alone)).epsilon(0.001));
}

TEST_CASE("faster knobs give the times they promise", "[sharing]") {
  Fixture f;
  axl_rec_cmd base = f.Together({CopyIn(f.host, 0, 4 << 20, 1)})[0];
  CHECK(f.dev.Set("pcie-bandwidth", 31508));  // twice gen4 x8
  axl_rec_cmd twice = f.Together({CopyIn(f.host, 0, 4 << 20, 1)})[0];
  CHECK(Life(base) - 720 == Approx(2 * (Life(twice) - 720)).epsilon(0.002));
  CHECK(f.dev.Set("pcie-latency-ns", 100));
  axl_rec_cmd close = f.Together({CopyIn(f.host, 0, 4 << 20, 1)})[0];
  CHECK(Life(twice) - Life(close) == 500);
  axl_desc mm = Matmul(0, 0x100000, 0x200000, 256, 256, 256, 1);
  CHECK(f.dev.Set("dram-bandwidth", 1000000));
  double one = Life(f.Together({mm})[0]) - 180;
  CHECK(f.dev.Set("matrix-rate", 2000));
  CHECK(2 * (Life(f.Together({mm})[0]) - 180) == Approx(one).epsilon(0.001));
  CHECK(f.dev.Set("clock-mhz", 500));
  CHECK(Life(f.Together({mm})[0]) - 180 == Approx(one).epsilon(0.001));
  CHECK(f.dev.Set("dispatch-ns", 1120));
  CHECK(Life(f.Together({mm})[0]) - 1180 == Approx(one).epsilon(0.001));
}

TEST_CASE("the functional model computes, without time", "[sharing]") {
  Fixture f(",model=functional");
  std::vector<float> a(64, 2.0f);
  f.dev.Put(f.host, a);
  f.Together({CopyIn(f.host, 0, 256, 1)});
  auto r = f.Together({Matmul(0, 0, 0x1000, 8, 8, 8, 1)});
  CHECK(Life(r[0]) <= 2);
  f.Together({CopyOut(f.host + 4096, 0x1000, 256, 1)});
  CHECK(f.dev.Get<float>(f.host + 4096, 64) == std::vector<float>(64, 32.0f));
}

}  // namespace acceltrace::device
