// SPDX-License-Identifier: Apache-2.0
//
// Phases, sharing and stalls of the timing model, by the formulas of docs/device-model.md.
#include <cmath>
#include <numeric>
#include <random>

#include "qemu-device/tests/descriptors.h"
#include "qemu-device/tests/expect.h"
#include "qemu-device/timing/tests/model.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kHost = uint64_t{1} << 32, kMiB = 1 << 20;
constexpr double kDispatchNs = 120, kReadNs = 600, kDramNs = 60;

// 2 MiB read and written by the vector engine.
axl_desc Stream(uint64_t from, uint32_t elements = 524288) {
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_COPY, 1);
  d.vector.src0 = from;
  d.vector.dst = from + 8 * kMiB;
  d.vector.rows = 1;
  d.vector.cols = elements;
  return d;
}

// A matmul of few rows: 4 MiB of weights, no reuse.
axl_desc Thin(uint64_t at) { return Matmul(at, at + 0x10000, at + 8 * kMiB, 1, 1024, 1024, 1); }

double Life(const std::string& properties, const axl_desc& d) {
  Model model(properties);
  REQUIRE(model.Start(d));
  model.Finish();
  return model.ended(d.engine).life_ns();
}

uint64_t Sum(const Model::Ended& e) {
  return std::accumulate(e.ticks.begin(), e.ticks.end(), uint64_t{0});
}

const char kDram[] = ",dram-bandwidth=8000,matrix-rate=100000,vector-lanes=1024";

}  // namespace

TEST_CASE("each phase is charged to its cause", "[timing]") {
  Model model;
  REQUIRE(model.Start(CopyIn(kHost, 0, 256, 1)));
  CHECK(model.run(AXL_ENGINE_H2D).phase == AXL_PHASE_DISPATCH);
  model.Step();
  CHECK(model.now() == kDispatchNs);
  CHECK(model.run(AXL_ENGINE_H2D).phase == AXL_PHASE_LATENCY_PCIE);
  model.Step();
  CHECK(model.now() == kDispatchNs + kReadNs);
  CHECK(model.run(AXL_ENGINE_H2D).phase == AXL_PHASE_STREAM);
  model.Finish();
  const Model::Ended& e = model.ended(AXL_ENGINE_H2D);
  CHECK(e.done);
  CHECK(e.ticks[AXL_STALL_DISPATCH] == kDispatchNs);
  CHECK(e.ticks[AXL_STALL_PCIE] == kReadNs);
  CHECK(e.ticks[AXL_STALL_MEMORY] == e.life_ns() - kDispatchNs - kReadNs - 4);  // a row to open
  CHECK(Sum(e) == static_cast<uint64_t>(e.life_ns()));
}

TEST_CASE("a command that asks for nothing ends with its dispatch", "[timing]") {
  CHECK(Life("", Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1)) == kDispatchNs);
  CHECK(Life(",dispatch-ns=0", Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1)) == 0);
}

TEST_CASE("a command that hangs never ends", "[timing]") {
  Model model;
  REQUIRE(model.Start(Stream(0)));
  model.run(AXL_ENGINE_VECTOR).work->hung = true;
  model.Finish();
  CHECK(model.run(AXL_ENGINE_VECTOR).phase == AXL_PHASE_HUNG);
  CHECK_FALSE(model.ended(AXL_ENGINE_VECTOR).done);
  CHECK(axl_run_least_end(&model.timing(), &model.run(AXL_ENGINE_VECTOR), 0, 0, 0) == AXL_FAR);
}

TEST_CASE("functional: a ns, whatever is done", "[timing]") {
  Model model;
  model.timing().functional = true;
  REQUIRE(model.Start(Stream(0)));
  model.Finish();
  CHECK(model.ended(AXL_ENGINE_VECTOR).life_ns() == 1);
  CHECK(axl_link_read_ns(&model.timing(), 4096) == 1);
  CHECK(axl_link_post_ns(&model.timing(), 4096) == 1);
}

TEST_CASE("two streams share DRAM evenly", "[timing]") {
  Model model(kDram);
  REQUIRE(model.Start(Stream(0)));
  REQUIRE(model.Start(Thin(32 * kMiB)));
  model.Finish();
  for (unsigned e : {AXL_ENGINE_VECTOR, AXL_ENGINE_MATRIX}) {
    CHECK(model.ended(e).life_ns() == Approx(2 * 4194304 / 8.0 + 180).epsilon(0.01));
    CHECK(axl_work_limiter(&model.ended(e).work) == AXL_LIMIT_MEMORY);
    CHECK(Sum(model.ended(e)) == static_cast<uint64_t>(model.ended(e).life_ns()));
  }
}

TEST_CASE("priority is a weight of 2 to its power", "[timing]") {
  const double alone = 4194304 / 8.0;
  for (unsigned priority = 1; priority <= 3; priority++) {
    Model model(kDram);
    REQUIRE(model.Start(Stream(0)));
    REQUIRE(model.Start(Thin(32 * kMiB), {}, priority));
    model.Finish();
    const double weight = 1 << priority;
    CHECK(model.ended(AXL_ENGINE_MATRIX).life_ns() ==
          Approx(alone * (weight + 1) / weight).epsilon(0.01));
    CHECK(model.ended(AXL_ENGINE_VECTOR).life_ns() == Approx(2 * alone).epsilon(0.01));
  }
}

TEST_CASE("the directions of the link are shared apart", "[timing]") {
  Model model;
  REQUIRE(model.Start(CopyIn(kHost, 0, kMiB, 1)));
  REQUIRE(model.Start(CopyOut(kHost, 4 * kMiB, kMiB, 1)));
  model.Finish();
  CHECK(model.ended(AXL_ENGINE_H2D).life_ns() <= 1.08 * Life("", CopyIn(kHost, 0, kMiB, 1)));
  CHECK(model.ended(AXL_ENGINE_D2H).life_ns() <= 1.08 * Life("", CopyOut(kHost, 0, kMiB, 1)));
}

TEST_CASE("throttling stretches the engine's own cycles", "[timing]") {
  const axl_desc d = Matmul(0, kMiB, 2 * kMiB, 256, 256, 256, 1);
  const std::string fast = ",dram-bandwidth=1000000";
  const double full = Life(fast, d) - kDispatchNs - kDramNs;
  for (int64_t permille : {500, 250, 100}) {
    Model model(fast + ",throttle-permille=" + std::to_string(permille));
    REQUIRE(model.Start(d));
    model.Finish();
    const Model::Ended& e = model.ended(AXL_ENGINE_MATRIX);
    const double now = e.life_ns() - kDispatchNs - kDramNs;
    CHECK(now == Approx(full * 1000 / static_cast<double>(permille)).epsilon(0.001));
    CHECK(axl_work_limiter(&e.work) == AXL_LIMIT_THROTTLE);
    CHECK(static_cast<double>(e.ticks[AXL_STALL_THROTTLE]) == Approx(now - full).margin(2));
  }
}

TEST_CASE("too few tags leave the link idle, and the time is theirs", "[timing]") {
  Model model(",pcie-tags=4");
  REQUIRE(model.Start(CopyIn(kHost, 0, kMiB, 1)));
  model.Finish();
  const Model::Ended& e = model.ended(AXL_ENGINE_H2D);
  // 2048 requests of 512 bytes, 4 at a time.
  CHECK(e.life_ns() == Approx(kDispatchNs + kReadNs + 2048 / 4 * kReadNs).epsilon(0.2));
  CHECK(axl_work_limiter(&e.work) == AXL_LIMIT_TAG);
}

TEST_CASE("while the link is down copies stand still, and nothing else", "[timing]") {
  Model model;
  REQUIRE(model.Start(CopyIn(kHost, 0, kMiB, 1)));
  REQUIRE(model.Start(Stream(16 * kMiB)));
  model.timing().link.up_ns = 1000000;
  for (int i = 0; i < 4; i++) model.Step(999999);
  while (model.now() < 999999) model.Step(999999);
  CHECK(model.ended(AXL_ENGINE_VECTOR).done);
  CHECK_FALSE(model.ended(AXL_ENGINE_H2D).done);
  CHECK(model.run(AXL_ENGINE_H2D).work->progress == 0);
  model.Step(1000000);
  model.Set("link-speed", 0);  // nothing but a new share of everything
  model.Finish();
  CHECK(model.ended(AXL_ENGINE_H2D).end_ns ==
        Approx(1000000 + Life("", CopyIn(kHost, 0, kMiB, 1)) - kDispatchNs - kReadNs).margin(2));
}

TEST_CASE("a change of the link is a change, the first setting is none", "[timing]") {
  Model model;
  CHECK_FALSE(axl_link_update(&model.timing()));
  model.knob().link_speed = 2;
  CHECK(axl_link_update(&model.timing()));
  CHECK(model.timing().link.gen == 2);
  CHECK(1 / model.timing().link.rx_ns_per_byte == Approx(5 * 8 / 8.0 * 0.8));
  model.knob().link_speed = 6;  // not above what the slot has
  CHECK(axl_link_update(&model.timing()));
  CHECK(model.timing().link.gen == 4);
  model.knob().pcie_bandwidth = 1000;
  CHECK_FALSE(axl_link_update(&model.timing()));
  CHECK(model.timing().link.tx_ns_per_byte == 1);
}

TEST_CASE("a small transfer takes its time from what streams that way", "[timing]") {
  auto ends = [](uint64_t bytes, bool rx) {
    Model model;
    REQUIRE(model.Start(CopyIn(kHost, 0, kMiB, 1)));
    model.Step(20000);
    while (model.now() < 20000) model.Step(20000);
    if (bytes) model.Traffic(bytes, rx);
    model.Finish();
    CHECK(model.ended(AXL_ENGINE_H2D).amounts[AXL_T_PAYLOAD] == kMiB);
    return model.ended(AXL_ENGINE_H2D).end_ns;
  };
  Model link;
  const int64_t alone = ends(0, true);
  CHECK(static_cast<double>(ends(10000, true) - alone) ==
        Approx(10000 * link.timing().link.rx_ns_per_byte).margin(1));
  CHECK(ends(100, false) - alone == 0);  // the link has spare capacity
}

TEST_CASE("a list is read before the data", "[timing]") {
  axl_desc d = CopyIn(kHost, 0, 8192, 1);
  d.flags |= AXL_DESC_F_SG;
  d.copy.sg_count = 2;
  std::vector<axl_sg> list(2);
  list[0].addr = kHost + 64 * 1024;
  list[0].bytes = list[1].bytes = 4096;
  list[1].addr = kHost;
  Model model;
  REQUIRE(model.Start(d, list));
  model.Finish();
  const double one = Life("", CopyIn(kHost, 0, 8192, 1));
  CHECK(model.ended(AXL_ENGINE_H2D).life_ns() == Approx(one + kReadNs + 3).margin(2));
  // Pages that are contiguous in host memory do not change the data.
  CHECK(model.ended(AXL_ENGINE_H2D).amounts[AXL_T_MRD] == 8192 / 512);
}

TEST_CASE("a gather fetches the rows that its indices name", "[timing]") {
  Model model;
  const uint32_t index[] = {3, 3, 1000000, 9};
  uint8_t* at = axl_mem(model.timing().memory, 0);
  std::copy_n(reinterpret_cast<const uint8_t*>(index), sizeof(index), at);
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_GATHER, 1);
  d.vector.src1 = kMiB;
  d.vector.dst = 2 * kMiB;
  d.vector.rows = 4;
  d.vector.cols = d.vector.src1_stride = d.vector.dst_stride = 512;
  d.vector.src0_stride = 1;
  d.vector.arg0 = 16;
  REQUIRE(model.Start(d));
  model.Finish();
  const auto& n = model.ended(AXL_ENGINE_VECTOR).amounts;
  // The indices, four rows out, three in: one index is out of range.
  CHECK(n[AXL_T_DRAM_USEFUL] == 4 * 4 + 4 * 2048 + 3 * 2048);
}

TEST_CASE("wire bytes are those of every TLP and its DLLPs", "[timing]") {
  for (unsigned gen = 1; gen <= 6; gen++) {
    Model model(",pcie-gen=6,link-retrain-ns=0,link-speed=" + std::to_string(gen));
    expect::Link link;
    link.gen = gen;
    const uint64_t at = kHost + 60, bytes = 100001;
    REQUIRE(model.Start(CopyIn(at, 0, bytes, 1)));
    REQUIRE(model.Start(CopyOut(at, kMiB, bytes, 1)));
    model.Finish();
    const expect::Traffic in = expect::Read(link, {{at, bytes}});
    const expect::Traffic out = expect::Write(link, {{at, bytes}});
    CHECK(model.ended(AXL_ENGINE_H2D).amounts[AXL_T_RX_WIRE] == in.rx_wire);
    CHECK(model.ended(AXL_ENGINE_H2D).amounts[AXL_T_TX_WIRE] == in.tx_wire);
    CHECK(model.ended(AXL_ENGINE_D2H).amounts[AXL_T_RX_WIRE] == out.rx_wire);
    CHECK(model.ended(AXL_ENGINE_D2H).amounts[AXL_T_TX_WIRE] == out.tx_wire);
  }
}

TEST_CASE("a matmul takes its cycles to the last one", "[timing]") {
  for (uint32_t n : {1u, 31u, 32u, 33u, 100u}) {
    const double cycles = expect::MatmulCycles(32, 32, n, n + 1, n + 2, 1);
    CHECK(Life(",dram-bandwidth=1000000,dram-rrd-ps=0,dram-miss-ps=0,dram-conflict-ps=0",
               Matmul(0, kMiB, 2 * kMiB, n, n + 1, n + 2, 1)) == kDispatchNs + kDramNs + cycles);
  }
}

TEST_CASE("a scratchpad port has its own bandwidth, and DRAM is left alone", "[timing]") {
  axl_desc d = Stream(AXL_SCRATCHPAD_BASE, 65536);
  d.vector.dst = AXL_SCRATCHPAD_BASE + kMiB;
  Model model(",scratch-bandwidth=1000");
  REQUIRE(model.Start(d));
  model.Finish();
  const Model::Ended& e = model.ended(AXL_ENGINE_VECTOR);
  CHECK(e.amounts[AXL_T_SCRATCH] == 2 * 65536 * 4);
  CHECK(e.amounts[AXL_T_DRAM_READ] + e.amounts[AXL_T_DRAM_WRITE] == 0);
  CHECK(e.life_ns() == kDispatchNs + kDramNs + 2 * 65536 * 4);
}

// At any time and in any order: all time is charged once, no bound is too late.
TEST_CASE("conservation and lower bounds under random traffic", "[timing]") {
  for (uint32_t seed = 0; seed < 200; seed++) {
    std::mt19937 random(seed);
    Model model(",dram-bandwidth=" + std::to_string(1000 + random() % 60000) +
                ",pcie-tags=" + std::to_string(1 + random() % 64) +
                ",link-speed=" + std::to_string(1 + random() % 4));
    const uint32_t n = 64 + random() % 200000;
    std::array<int64_t, AXL_NUM_ENGINES> least;
    const axl_desc commands[] = {CopyIn(kHost + random() % 4096, 0, n, 1),
                                 CopyOut(kHost, kMiB, n / 2 + 1, 1),
                                 Matmul(0, kMiB, 8 * kMiB, 1 + n % 97, 64, 1 + n % 301, 1),
                                 Stream(32 * kMiB, 1 + n)};
    for (const axl_desc& d : commands) {
      REQUIRE(model.Start(d, {}, random() % 4));
      AxlWork work = {};
      work.least = model.run(d.engine).work->least;
      least[d.engine] = axl_least_ns(&model.timing(), &d, &work);
    }
    int64_t until = 0;
    for (int i = 0; i < 50; i++) {
      until += 1 + random() % 5000;
      while (model.now() < until && model.Step(until)) {
      }
      if (random() % 4 == 0) model.Traffic(random() % 512, random() % 2 == 0);
      if (random() % 16 == 0) model.Set("throttle-permille", 100 + random() % 901);
    }
    model.Finish();
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
      const Model::Ended& ended = model.ended(e);
      INFO("seed " << seed << ", engine " << e);
      REQUIRE(ended.done);
      CHECK(Sum(ended) == static_cast<uint64_t>(ended.life_ns()));
      CHECK(ended.life_ns() >= static_cast<double>(least[e]));
      for (unsigned t = 0; t < AXL_NUM_TALLIES; t++) {
        CHECK(ended.amounts[t] == ended.work.total[t]);
      }
      for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        CHECK(ended.ticks[c] == ended.work.ticks[c]);
        CHECK(std::fabs(ended.work.owed_ticks[c]) < 2);
      }
    }
  }
}

}  // namespace acceltrace::device
