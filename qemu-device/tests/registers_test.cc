// SPDX-License-Identifier: Apache-2.0
//
// The value of each register after power-on, and which bits are writable.
#include <algorithm>
#include <cstdio>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

struct Fixture {
  explicit Fixture(const std::string& properties = "")
      : machine({"-device", "axl,id=axl0,bus=rp0" + properties}), dev(&machine) {}
  Machine machine;
  Device dev;
};

std::string Offset(uint64_t reg) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%04x", static_cast<unsigned>(reg));
  return text;
}

}  // namespace

TEST_CASE("identity registers say what the properties say", "[registers]") {
  Fixture f(
      ",queues=5,contexts=3,dram-bytes=64M,scratch-bytes=1M,window-bytes=16M,clock-hz=250000000,"
      "clock-bits=40,matrix-rows=64,matrix-cols=16,vector-lanes=8,clock-mhz=800,"
      "dram-bandwidth=12345");
  Device& d = f.dev;
  CHECK(d.R32(AXL_REG_ID) == AXL_ID_MAGIC);
  CHECK(d.R32(AXL_REG_VERSION) == (AXL_HW_VERSION_MAJOR << 16 | AXL_HW_VERSION_MINOR));
  uint32_t caps = d.R32(AXL_REG_CAPS);
  CHECK(AXL_CAPS_QUEUES(caps) == 5);
  CHECK(AXL_CAPS_CONTEXTS(caps) == 3);
  CHECK(AXL_CAPS_ENGINES(caps) == AXL_NUM_ENGINES);
  CHECK(AXL_CAPS_TRACE_RINGS(caps) == 4);
  CHECK(d.R32(AXL_REG_FEATURES) ==
        (AXL_FEATURE_PTM | AXL_FEATURE_WINDOW | AXL_FEATURE_BF16 | AXL_FEATURE_SG |
         AXL_FEATURE_CLEAR));
  CHECK(d.R64(AXL_REG_DRAM_BYTES) == 64u << 20);
  CHECK(d.R64(AXL_REG_SCRATCH_BYTES) == 1u << 20);
  CHECK(d.R64(AXL_REG_CLOCK_HZ) == 250000000);
  CHECK(d.R32(AXL_REG_CLOCK_BITS) == 40);
  CHECK(d.R32(AXL_REG_NUM_COUNTERS) == AXL_NUM_COUNTERS);
  CHECK(d.R32(AXL_REG_STATUS) == AXL_STATUS_READY);
  CHECK(d.R32(AXL_REG_MATRIX_ROWS) == 64);
  CHECK(d.R32(AXL_REG_MATRIX_COLS) == 16);
  CHECK(d.R32(AXL_REG_VECTOR_LANES) == 8);
  CHECK(d.R64(AXL_REG_ENGINE_HZ) == 800000000);
  CHECK(d.R64(AXL_REG_DRAM_BPS) == 12345000000);
  // Units that the properties leave out do not exist.
  d.W32(AXL_REG_Q_SQ_LOG2(5), 9);
  CHECK(d.R32(AXL_REG_Q_SQ_LOG2(5)) == 0);
  d.W32(AXL_REG_CTX_PRIORITY(3), 2);
  CHECK(d.R32(AXL_REG_CTX_PRIORITY(3)) == 0);
  d.W32(AXL_REG_TR_LOG2(4), 9);
  CHECK(d.R32(AXL_REG_TR_LOG2(4)) == 0);
}

TEST_CASE("read-only registers stay as they are", "[registers]") {
  Fixture f;
  Device& d = f.dev;
  std::vector<uint64_t> regs = {
      AXL_REG_ID,           AXL_REG_VERSION,        AXL_REG_CAPS,
      AXL_REG_FEATURES,     AXL_REG_DRAM_BYTES,     AXL_REG_SCRATCH_BYTES,
      AXL_REG_CLOCK_HZ,     AXL_REG_CLOCK_BITS,     AXL_REG_NUM_COUNTERS,
      AXL_REG_STATUS,       AXL_REG_MATRIX_ROWS,    AXL_REG_MATRIX_COLS,
      AXL_REG_VECTOR_LANES, AXL_REG_ENGINE_HZ,      AXL_REG_DRAM_BPS,
      AXL_REG_CLK_LATCHED,  AXL_REG_PTM_STATUS,     AXL_REG_PTM_DEVICE,
      AXL_REG_PTM_HOST,     AXL_REG_CTR_TIME,       AXL_REG_CTR_SEQ,
      AXL_REG_CTR(0),       AXL_REG_CTR(255),       AXL_REG_CTX_CTR(0, 0),
      AXL_REG_SEM(0),       AXL_REG_SEM(1023),      AXL_REG_CTX_STATUS(0),
      AXL_REG_CTX_ERROR(0), AXL_REG_CTX_ERR_JOB(0), AXL_REG_CTX_ERR_INDEX(0),
      AXL_REG_Q_STATUS(0),  AXL_REG_Q_SQ_HEAD(0),   AXL_REG_Q_CQ_TAIL(0),
      AXL_REG_Q_ERROR(0),   AXL_REG_TR_PRODUCED(0), AXL_REG_TR_LOST(0),
      AXL_REG_TR_STATUS(0), AXL_REG_ENG_JOB(0),     AXL_REG_ENG_INDEX(0),
      AXL_REG_ENG_DEPTH(0)};
  for (uint64_t reg : regs) {
    INFO(Offset(reg));
    uint32_t before = d.R32(reg);
    d.W32(reg, ~before);
    CHECK(d.R32(reg) == before);
  }
}

TEST_CASE("write-only and absent registers read zero", "[registers]") {
  Fixture f;
  for (uint64_t reg :
       {uint64_t{AXL_REG_CLK_LATCH}, uint64_t{AXL_REG_PTM_TRIGGER}, uint64_t{AXL_REG_CTR_LATCH},
        uint64_t{AXL_REG_Q_SQ_TAIL(0)}, uint64_t{AXL_REG_Q_CQ_HEAD(0)}, uint64_t{0x0068},
        uint64_t{0x0300}, uint64_t{0x8038}, uint64_t{0xa034}, uint64_t{0xb000}, uint64_t{0xc100},
        uint64_t{0xfffc}}) {
    INFO(Offset(reg));
    CHECK(f.dev.R32(reg) == 0);
  }
}

TEST_CASE("writable registers keep what fits, whole and by halves", "[registers]") {
  Fixture f;
  Device& d = f.dev;
  for (unsigned q : {0u, 7u, 15u}) {
    d.W64(AXL_REG_Q_SQ_BASE(q), 0x123456789abcde80);
    CHECK(d.R64(AXL_REG_Q_SQ_BASE(q)) == 0x123456789abcde80);
    d.W32(AXL_REG_Q_SQ_BASE(q) + 4, 0x55);
    CHECK(d.R64(AXL_REG_Q_SQ_BASE(q)) == 0x000000559abcde80);
    d.W32(AXL_REG_Q_SQ_BASE(q), 0x80);
    CHECK(d.R32(AXL_REG_Q_SQ_BASE(q)) == 0x80);
    CHECK(d.R32(AXL_REG_Q_SQ_BASE(q) + 4) == 0x55);
    d.W64(AXL_REG_Q_CQ_BASE(q), 0x1020);
    CHECK(d.R64(AXL_REG_Q_CQ_BASE(q)) == 0x1020);
    d.W32(AXL_REG_Q_SQ_LOG2(q), 11);
    d.W32(AXL_REG_Q_CQ_LOG2(q), 10);
    d.W32(AXL_REG_Q_CONTEXT(q), 6);
    CHECK(d.R64(AXL_REG_Q_SQ_LOG2(q)) == (uint64_t{10} << 32 | 11));  // a pair in one read
    CHECK(d.R32(AXL_REG_Q_CONTEXT(q)) == 6);
  }
  for (unsigned r : {0u, 8u}) {
    d.W64(AXL_REG_TR_BASE(r), 0x7000);
    d.W32(AXL_REG_TR_LOG2(r), 9);
    d.W32(AXL_REG_TR_CLASSES(r), 0xffffffff);
    d.W32(AXL_REG_TR_WATERMARK(r), 17);
    d.W64(AXL_REG_TR_PERIOD_NS(r), 1234567890123);
    CHECK(d.R64(AXL_REG_TR_BASE(r)) == 0x7000);
    CHECK(d.R32(AXL_REG_TR_LOG2(r)) == 9);
    CHECK(d.R32(AXL_REG_TR_CLASSES(r)) == AXL_REC_CLASSES_ALL);
    CHECK(d.R32(AXL_REG_TR_WATERMARK(r)) == 17);
    CHECK(d.R64(AXL_REG_TR_PERIOD_NS(r)) == 1234567890123);
  }
  d.W32(AXL_REG_CTRL, AXL_CTRL_ENABLE | 0xff00);
  CHECK(d.R32(AXL_REG_CTRL) == AXL_CTRL_ENABLE);
  d.W32(AXL_REG_INT_MASK, 0xffffffff);
  CHECK(d.R32(AXL_REG_INT_MASK) == AXL_INT_ALL);
  d.W32(AXL_REG_CTR_CTRL, 0xff);
  CHECK(d.R32(AXL_REG_CTR_CTRL) == AXL_CTR_CTRL_FREEZE);
  for (unsigned c : {0u, 7u}) {
    d.W32(AXL_REG_CTX_CTRL(c), 0xfd);
    CHECK(d.R32(AXL_REG_CTX_CTRL(c)) == AXL_CTX_ENABLE);
    d.W32(AXL_REG_CTX_PRIORITY(c), 2);
    CHECK(d.R32(AXL_REG_CTX_PRIORITY(c)) == 2);
    d.W32(AXL_REG_CTX_PRIORITY(c), 99);
    CHECK(d.R32(AXL_REG_CTX_PRIORITY(c)) == 3);
  }
  // A device reset clears all of it.
  d.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  CHECK(d.R32(AXL_REG_CTRL) == 0);
  CHECK(d.R32(AXL_REG_INT_MASK) == 0);
  CHECK(d.R64(AXL_REG_Q_SQ_BASE(7)) == 0);
  CHECK(d.R32(AXL_REG_CTX_PRIORITY(7)) == 0);
  CHECK(d.R64(AXL_REG_TR_PERIOD_NS(8)) == 0);
}

TEST_CASE("the link in configuration space is the model's link", "[registers]") {
  Fixture f(",pcie-gen=5,pcie-width=8");
  Device& d = f.dev;
  unsigned cap = d.ExpressCap();
  REQUIRE(cap != 0);
  CHECK((d.Config(cap + 0x0c) & 0xf) == 5);
  CHECK((d.Config(cap + 0x0c) >> 4 & 0x3f) == 8);
  auto status = [&] { return d.Config(cap + 0x10) >> 16; };
  CHECK((status() & 0xf) == 5);
  CHECK((status() >> 4 & 0x3f) == 8);
  // The root port's status follows.
  unsigned bridge_cap = 0;
  for (unsigned c = f.machine.ConfigRead32(0, 4 << 3, 0x34) & 0xff; c;
       c = f.machine.ConfigRead32(0, 4 << 3, c) >> 8 & 0xff) {
    if ((f.machine.ConfigRead32(0, 4 << 3, c) & 0xff) == 0x10) bridge_cap = c;
  }
  REQUIRE(bridge_cap != 0);
  CHECK(d.Set("link-speed", 2));
  CHECK(d.Set("link-width", 4));
  CHECK((status() & 0xf) == 2);
  CHECK((status() >> 4 & 0x3f) == 4);
  uint32_t port = f.machine.ConfigRead32(0, 4 << 3, bridge_cap + 0x10) >> 16;
  CHECK((port & 0xf) == 2);
  CHECK((port >> 4 & 0x3f) == 4);
  CHECK((d.R32(AXL_REG_STATUS) & AXL_STATUS_LINK_DEGRADED) != 0);
  CHECK((d.R32(AXL_REG_INT_STATUS) & AXL_INT_LINK) != 0);
  CHECK(d.Latch()[AXL_CTR_LINK_RETRAINS] == 2);
  CHECK(d.Set("link-speed", 0));
  CHECK(d.Set("link-width", 0));
  CHECK((d.R32(AXL_REG_STATUS) & AXL_STATUS_LINK_DEGRADED) == 0);
  CHECK((status() & 0xf) == 5);
}

TEST_CASE("payload sizes follow device control unless a property holds them", "[registers]") {
  Fixture f(",pcie-gen=3,pcie-width=1");
  Device& d = f.dev;
  unsigned cap = d.ExpressCap();
  d.Enable();
  d.EnableContext(0);
  d.SetUpQueue(0, 0);
  auto tlps = [&](axl_desc desc) {
    Counters before = d.Latch();
    desc.flags = kLast;
    d.Push(0, desc);
    d.Ring(0);
    axl_cqe cqe;
    REQUIRE(d.Await(0, &cqe));
    Counters after = d.Latch();
    return std::pair{after[AXL_CTR_PCIE_TX_MRD] - before[AXL_CTR_PCIE_TX_MRD],
                     after[AXL_CTR_PCIE_RX_CPLD] - before[AXL_CTR_PCIE_RX_CPLD]};
  };
  uint64_t host = d.Alloc(8192);
  // Power-on: MPS 128, MRRS 512; the descriptor's own fetch is one request.
  CHECK(tlps(CopyIn(host, 0, 4096, 1)) == std::pair<uint64_t, uint64_t>{8 + 1, 32 + 1});
  uint32_t ctl = d.Config(cap + 8);
  d.ConfigWrite(cap + 8, (ctl & ~0x70e0u) | 1u << 5 | 5u << 12);  // 256, 4096
  CHECK(tlps(CopyIn(host, 0, 4096, 2)) == std::pair<uint64_t, uint64_t>{1 + 1, 16 + 1});
  CHECK(d.Set("pcie-mps", 512));
  CHECK(d.Set("pcie-mrrs", 1024));
  CHECK((d.Config(cap + 8) & 0x70e0u) == (2u << 5 | 3u << 12));
  d.ConfigWrite(cap + 8, ctl);  // held
  CHECK((d.Config(cap + 8) & 0x70e0u) == (2u << 5 | 3u << 12));
  CHECK(tlps(CopyIn(host, 0, 4096, 3)) == std::pair<uint64_t, uint64_t>{4 + 1, 8 + 1});
}

TEST_CASE("a range of memory is zeroed, no byte more", "[registers]") {
  Fixture f;
  Device& d = f.dev;
  uint64_t dram = d.R64(AXL_REG_DRAM_BYTES), scratch = d.R64(AXL_REG_SCRATCH_BYTES);
  std::vector<uint8_t> mark(4 * 4096, 0xa5), zero(8192);
  auto clear = [&](uint64_t base, uint64_t bytes) {
    d.W64(AXL_REG_CLEAR_BASE, base);
    d.W64(AXL_REG_CLEAR_BYTES, bytes);
    d.W32(AXL_REG_CLEAR_CTRL, AXL_CLEAR_BUSY);
    return d.R32(AXL_REG_CLEAR_CTRL);
  };
  d.Put(d.window() + 0x100000, mark);
  CHECK(clear(0x101000, 8192) == AXL_CLEAR_BUSY);
  // Requests while it is busy are ignored.
  CHECK(clear(0x100000, 4096) == AXL_CLEAR_BUSY);
  f.machine.Step(1 + 8192 * 1000000000ll / static_cast<int64_t>(d.R64(AXL_REG_DRAM_BPS)));
  CHECK(d.R32(AXL_REG_CLEAR_CTRL) == 0);
  std::vector<uint8_t> now = d.Get<uint8_t>(d.window() + 0x100000, mark.size());
  std::copy(zero.begin(), zero.end(), mark.begin() + 4096);
  CHECK((now == mark));
  // The ends of both memories, and addresses outside of them.
  struct {
    uint64_t base, bytes;
    bool ok;
  } const kCases[] = {{dram - 4096, 4096, true},
                      {AXL_SCRATCHPAD_BASE, scratch, true},
                      {AXL_SCRATCHPAD_BASE + scratch - 4096, 4096, true},
                      {0, 0, false},
                      {dram - 4096, 8192, false},
                      {dram, 4096, false},
                      {AXL_SCRATCHPAD_BASE, scratch + 4096, false},
                      {AXL_SCRATCHPAD_BASE - 4096, 8192, false},
                      {~uint64_t{4095}, 4096, false},
                      {4096, ~uint64_t{4095}, false},
                      {4096 + 512, 4096, false},
                      {4096, 4096 + 512, false}};
  for (const auto& c : kCases) {
    INFO(Offset(c.base) << " " << c.bytes);
    CHECK(clear(c.base, c.bytes) == (c.ok ? AXL_CLEAR_BUSY : AXL_CLEAR_ERROR));
    f.machine.Step(1000000);
  }
  d.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  CHECK(d.R32(AXL_REG_CLEAR_CTRL) == 0);
  CHECK(d.R64(AXL_REG_CLEAR_BASE) == 0);
}

}  // namespace acceltrace::device
