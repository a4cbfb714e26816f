// SPDX-License-Identifier: Apache-2.0
//
// The device as a PCI Express function: error reporting, function-level reset, and how the port
// above it reports a removal.
#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kEcam = 0xb0000000;
constexpr uint32_t kAer = 0x0001, kFlr = 1u << 28, kInitiateFlr = 1u << 15;

// The extended configuration space, through q35's memory window.
struct Express {
  explicit Express(Machine* machine) : machine(*machine) {
    machine->ConfigWrite32(0, 0, 0x64, 0);
    machine->ConfigWrite32(0, 0, 0x60, static_cast<uint32_t>(kEcam) | 1);
  }
  uint64_t At(unsigned bus, unsigned offset) { return kEcam + (uint64_t{bus} << 20) + offset; }
  unsigned Find(unsigned bus, uint32_t id) {
    for (unsigned at = 0x100; at;) {
      uint32_t header = machine.Read32(At(bus, at));
      if ((header & 0xffff) == id) return at;
      at = header >> 20;
    }
    return 0;
  }
  Machine& machine;
};

bool Inject(Machine* machine, const std::string& error) {
  std::string reply = machine->Qmp(
      "{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":"
      "\"pcie_aer_inject_error " + error + "\"}}");
  return reply.find("\"return\": \"OK") != std::string::npos;
}

bool RunNop(Device* dev, uint32_t job) {
  axl_cqe cqe = {};
  dev->Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, 0, kLast));
  dev->Ring(0);
  return dev->Await(0, &cqe) && cqe.job == job;
}

}  // namespace

TEST_CASE("errors given by the monitor are in the error reporting capability", "[pcie]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  Express express(&machine);
  unsigned aer = express.Find(1, kAer);
  REQUIRE(aer != 0);
  auto read = [&](unsigned reg) { return machine.Read32(express.At(1, aer + reg)); };
  CHECK(read(0x04) == 0);
  CHECK(read(0x10) == 0);
  CHECK(Inject(&machine, "-c axl0 1"));  // receiver error
  CHECK(read(0x10) == 1);
  CHECK(Inject(&machine, "axl0 0x4000 1 2 3 4"));  // completion time-out
  CHECK(read(0x04) == 0x4000);
  CHECK((dev.Config(dev.ExpressCap() + 8) >> 16 & 7) == 3);  // both kinds, in DEVSTA
  // Each bit is acknowledged separately by writing 1 to it.
  machine.Write32(express.At(1, aer + 0x10), 1);
  CHECK(read(0x10) == 0);
  CHECK(read(0x04) == 0x4000);
  machine.Write32(express.At(1, aer + 0x04), 0x4000);
  CHECK(read(0x04) == 0);
  CHECK(dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
}

TEST_CASE("a function-level reset takes the work and leaves the clock", "[pcie]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,clock-offset=5"});
  Device dev(&machine);
  unsigned control = dev.ExpressCap() + 8;
  REQUIRE((dev.Config(dev.ExpressCap() + 4) & kFlr) != 0);
  dev.Enable();
  dev.EnableContext(0);
  dev.SetUpQueue(0, 0);
  REQUIRE(RunNop(&dev, 1));
  uint64_t host = dev.Alloc(1 << 20);
  dev.Push(0, CopyOut(host, 0, 1 << 20, 2, 0, kLast));
  dev.Put(host, std::vector<uint8_t>(4096, 0x5a));
  dev.Ring(0);
  machine.Step(5000);
  dev.ConfigWrite(control, (dev.Config(control) & 0xffff) | kInitiateFlr);
  CHECK((dev.Config(control) & kInitiateFlr) == 0);
  CHECK((dev.Config(0x04) & 0x7) == 0);  // neither a bus master nor decoding
  machine.Step(10000000);
  // The copy in flight never ended.
  CHECK(dev.Get<uint8_t>(host, 4096) == std::vector<uint8_t>(4096, 0x5a));
  Device again(&machine);
  CHECK(again.R32(AXL_REG_CTRL) == 0);
  CHECK(again.R32(AXL_REG_Q_STATUS(0)) == 0);
  CHECK(again.R64(AXL_REG_CLK_NOW) == static_cast<uint64_t>(machine.now_ns()) + 5);
  again.Enable();
  again.EnableContext(0);
  again.SetUpQueue(0, 0);
  CHECK(RunNop(&again, 3));
}

TEST_CASE("the port's link change after surprise removal can be asked for and cleared", "[pcie]") {
  constexpr unsigned kPort = 4 << 3, kLinkChangeEnable = 1u << 12;
  constexpr uint32_t kEvents = (1u << 3 | 1u << 8) << 16, kPresent = 1u << 6 << 16;
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  unsigned slot = 0;
  for (unsigned c = machine.ConfigRead32(0, kPort, 0x34) & 0xff; c && c < 0xff;
       c = machine.ConfigRead32(0, kPort, c) >> 8 & 0xff) {
    if ((machine.ConfigRead32(0, kPort, c) & 0xff) == 0x10) slot = c + 0x18;
  }
  REQUIRE(slot != 0);
  auto read = [&] { return machine.ConfigRead32(0, kPort, slot); };
  CHECK((read() & kLinkChangeEnable) == 0);
  machine.ConfigWrite32(0, kPort, slot, kLinkChangeEnable);
  CHECK((read() & kLinkChangeEnable) != 0);
  for (int removed : {1, 0}) {
    REQUIRE(dev.Set("fault-removed", removed));
    CHECK((read() & kEvents) == kEvents);
    CHECK(((read() & kPresent) == 0) == (removed == 1));
    // Acknowledge until nothing is set, as an interrupt handler does.
    machine.ConfigWrite32(0, kPort, slot, read());
    CHECK((read() & kEvents) == 0);
  }
}

}  // namespace acceltrace::device
