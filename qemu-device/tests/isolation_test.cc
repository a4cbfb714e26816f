// SPDX-License-Identifier: Apache-2.0
//
// Two devices in one machine: the activity of one shows in no counter, record or time of the other.
#include <array>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

// Half a millisecond of copies both ways, matmuls and vector work.
void Load(Device* d, uint64_t host, uint32_t job) {
  for (uint32_t i = 0; i < 12; i++) {
    uint64_t at = uint64_t{i} << 18;
    d->Push(0, CopyIn(host + at, at, 200000, job, 4 * i));
    d->Push(0, CopyOut(host + at, at + (8 << 20), 150000, job, 4 * i + 1));
    d->Push(0, Matmul(at, at + 0x10000, at + 0x20000, 64, 64, 64, job, 4 * i + 2));
    d->Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, 4 * i + 3, i == 11 ? kLast : 0));
  }
  d->Ring(0);
}

// The activity of a device as it counts it itself.
struct Account {
  Counters counters;
  std::vector<std::string> records;
  bool operator==(const Account&) const = default;
};

struct Pair {
  Pair()
      : machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,clock-offset=0", "-device",
                 "axl,id=axl1,bus=rp1,clock-ppm=0,clock-offset=0"}),
        a(&machine, 0, "axl0"),
        b(&machine, 1, "axl1") {
    for (Device* d : {&a, &b}) {
      d->Enable();
      d->EnableContext(0);
      d->SetUpQueue(0, 0, 7, 7);
      d->SetUpTrace(0, 9, AXL_REC_CLASSES_ALL);
    }
    host_a = a.Alloc(4 << 20);
    host_b = b.Alloc(4 << 20);
    machine.Step(1000000 - machine.now_ns());
  }
  Account Of(Device* d) {
    Account out = {d->Latch(), {}};
    for (const axl_record& r : d->Records(0)) {
      out.records.emplace_back(reinterpret_cast<const char*>(&r), sizeof(r));
    }
    return out;
  }
  Machine machine;
  Device a, b;
  uint64_t host_a = 0, host_b = 0;
};

}  // namespace

TEST_CASE("traffic of one device is no other's", "[isolation]") {
  auto run = [](bool neighbour) {
    Pair pair;
    Load(&pair.a, pair.host_a, 7);
    if (neighbour) Load(&pair.b, pair.host_b, 8);
    pair.machine.Step(5000000);
    return std::array{pair.Of(&pair.a), pair.Of(&pair.b)};
  };
  auto alone = run(false), both = run(true);
  REQUIRE(alone[0].records.size() > 40);
  // Equal to the tick and to the byte.
  CHECK((both[0] == alone[0]));
  CHECK(alone[0].counters[AXL_CTR_PCIE_RX_PAYLOAD] > 12 * 200000);
  // An idle neighbour only counts its cycles.
  CHECK(alone[1].records.empty());
  for (unsigned c : {AXL_CTR_PCIE_RX_PAYLOAD, AXL_CTR_PCIE_TX_PAYLOAD, AXL_CTR_JOBS,
                     AXL_CTR_DOORBELLS, AXL_CTR_INTERRUPTS}) {
    CHECK(alone[1].counters[c] < both[1].counters[c]);
  }
  // The same work on an equal device takes the same time.
  CHECK(both[1].counters[AXL_CTR_PCIE_RX_PAYLOAD] == both[0].counters[AXL_CTR_PCIE_RX_PAYLOAD]);
  CHECK(both[1].counters[AXL_CTR_MATRIX_BUSY] == both[0].counters[AXL_CTR_MATRIX_BUSY]);
  CHECK(both[1].counters[AXL_CTR_PCIE_TX_WIRE] == both[0].counters[AXL_CTR_PCIE_TX_WIRE]);
}

TEST_CASE("a peer's copies count on the link of the one who makes them", "[isolation]") {
  auto run = [](bool to_peer) {
    Pair pair;
    uint64_t there = to_peer ? pair.b.window() + (32 << 20) : pair.host_b;
    pair.a.Push(0, CopyOut(there, 0, 1000000, 3));
    pair.a.Push(0, CopyIn(there, 4 << 20, 1000000, 3, 1, kLast));
    pair.a.Ring(0);
    pair.machine.Step(2000000);
    return std::array{pair.Of(&pair.a), pair.Of(&pair.b)};
  };
  auto host = run(false), peer = run(true);
  REQUIRE(host[0].counters[AXL_CTR_JOBS] == 1);
  CHECK((peer[0] == host[0]));
  // The peer's link carries the transfers too, but its counters only have its own activity.
  CHECK((peer[1] == host[1]));
}

}  // namespace acceltrace::device
