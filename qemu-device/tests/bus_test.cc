// SPDX-License-Identifier: Apache-2.0
//
// Addresses that a guest should not use: the device's own BARs, another device's, unmapped ones,
// and ways back to itself through messages and configuration space. None may enter the device while
// it is running.
#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kUnmapped = 0xf0000000;        // a hole of q35's
constexpr uint64_t kBeyond = 0x7fffff0000000000;  // above every bus
constexpr uint64_t kEcam = 0xb0000000;

void SetUp(Device* dev) {
  dev->Enable();
  dev->EnableContext(0);
  dev->SetUpQueue(0, 0);
}

uint32_t StatusOf(Device* dev, axl_desc d) {
  d.flags |= kLast;
  dev->Push(0, d);
  dev->Ring(0);
  axl_cqe cqe = {};
  REQUIRE(dev->Await(0, &cqe));
  return cqe.status;
}

void ResetContext(Device* dev) {
  dev->W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET);
  dev->EnableContext(0);
  dev->Resume(0);
}

// Puts the machine's configuration space at kEcam; returns the address of a function's.
uint64_t MapEcam(Machine* machine, unsigned bus, unsigned devfn) {
  machine->ConfigWrite32(0, 0, 0x64, 0);
  machine->ConfigWrite32(0, 0, 0x60, static_cast<uint32_t>(kEcam) | 1);
  return kEcam + (uint64_t{bus} << 20) + (devfn << 12);
}

}  // namespace

TEST_CASE("copies to and from the device's own BARs are refused", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  uint64_t msix = dev.regs() + 0x100000;
  const uint64_t own[] = {dev.regs(),
                          dev.regs() + AXL_REG_CTRL,
                          dev.regs() + AXL_REG_Q_SQ_TAIL(0),
                          dev.regs() + AXL_REGS_BYTES - 4,
                          dev.regs() - 60,  // runs into it
                          dev.window(),
                          dev.window() + 0x1000,
                          msix,
                          msix + 16};
  for (uint64_t address : own) {
    INFO(std::hex << address);
    uint32_t ctrl = dev.R32(AXL_REG_CTRL);
    CHECK(StatusOf(&dev, CopyOut(address, 0, 64, 1)) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
    CHECK(StatusOf(&dev, CopyIn(address, 0, 64, 2)) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
    axl_desc list = CopyIn(address & ~15ull, 0, 64, 3);
    list.flags = AXL_DESC_F_SG;
    list.copy.sg_count = 1;
    CHECK(StatusOf(&dev, list) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
    uint64_t at = dev.Alloc(16);
    dev.Put(at, std::vector<axl_sg>{{address, 64, 0}});
    list.copy.host = at;
    CHECK(StatusOf(&dev, list) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
    CHECK(dev.R32(AXL_REG_CTRL) == ctrl);
  }
}

TEST_CASE("rings in the device's own BARs do not start", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  for (uint64_t address : {dev.regs(), dev.window(), dev.regs() + 0x100000}) {
    dev.W64(AXL_REG_Q_SQ_BASE(1), address);
    dev.W64(AXL_REG_Q_CQ_BASE(1), dev.Alloc(4096));
    dev.W32(AXL_REG_Q_SQ_LOG2(1), 4);
    dev.W32(AXL_REG_Q_CQ_LOG2(1), 4);
    dev.W32(AXL_REG_Q_CTRL(1), AXL_Q_ENABLE);
    CHECK(dev.R32(AXL_REG_Q_STATUS(1)) == AXL_Q_STATUS_ERROR);
    dev.W64(AXL_REG_TR_BASE(0), address);
    dev.W32(AXL_REG_TR_LOG2(0), 5);
    dev.W32(AXL_REG_TR_CTRL(0), 1);
    CHECK(dev.R32(AXL_REG_TR_STATUS(0)) == 2);
  }
}

TEST_CASE("unmapped addresses harm nobody", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  for (uint64_t address : {kUnmapped, kBeyond, ~uint64_t{0} - 62}) {
    INFO(std::hex << address);
    CHECK(StatusOf(&dev, CopyIn(address, 0, 63, 1)) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
    CHECK(StatusOf(&dev, CopyOut(address, 0, 63, 1)) == AXL_ST_DMA_ERROR);
    ResetContext(&dev);
  }
  CHECK(StatusOf(&dev, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 9)) == AXL_ST_OK);
}

TEST_CASE("a message aimed at the device's own registers does nothing", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  uint64_t entry = dev.regs() + 0x100000 + 16 * AXL_MSIX_QUEUE(0);
  for (uint64_t reg : {uint64_t{AXL_REG_CTRL}, uint64_t{AXL_REG_CTX_CTRL(0)}}) {
    machine.Write32(entry, static_cast<uint32_t>(dev.regs() + reg));
    machine.Write32(entry + 8, AXL_CTRL_RESET);  // the same bit in both
    static_assert(int{AXL_CTRL_RESET} == int{AXL_CTX_RESET});
    CHECK(StatusOf(&dev, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1)) == AXL_ST_OK);
    CHECK(dev.R32(AXL_REG_CTRL) == AXL_CTRL_ENABLE);
    CHECK(dev.R32(AXL_REG_CTX_CTRL(0)) == AXL_CTX_ENABLE);
  }
  CHECK(dev.Latch()[AXL_CTR_JOBS] == 2);
}

TEST_CASE("a peer's answer does not come back into a device at work", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0", "-device", "axl,id=axl1,bus=rp1"});
  Device a(&machine, 0, "axl0"), b(&machine, 1, "axl1");
  SetUp(&a);
  SetUp(&b);
  // The record of the doorbell that a rings by DMA would go to a's registers.
  b.W64(AXL_REG_TR_BASE(0), a.regs());
  b.W32(AXL_REG_TR_LOG2(0), 5);
  b.W32(AXL_REG_TR_CLASSES(0), AXL_REC_CLASSES_ALL);
  b.W32(AXL_REG_TR_CTRL(0), 1);
  a.Enable();  // b's ring header was a write to a's registers like any other
  b.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1, 0, kLast));
  uint64_t bell = a.Alloc(4);
  a.Put(bell, std::vector<uint32_t>{1});
  CHECK(StatusOf(&a, CopyIn(bell, 0, 4, 1)) == AXL_ST_OK);
  CHECK(StatusOf(&a, CopyOut(b.regs() + AXL_REG_Q_SQ_TAIL(0), 0, 4, 2)) == AXL_ST_OK);
  axl_cqe cqe;
  CHECK(b.Await(0, &cqe));
  CHECK(a.R32(AXL_REG_CTRL) == AXL_CTRL_ENABLE);
  CHECK(a.R32(AXL_REG_ID) == AXL_ID_MAGIC);
}

TEST_CASE("a device that resets its own bus by a copy is reset after the copy", "[bus]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  constexpr unsigned kPort = 4 << 3, kBridgeControl = 0x3c;
  uint64_t port = MapEcam(&machine, 0, kPort);
  uint64_t host = dev.Alloc(4096);
  dev.Put(host, std::vector<uint32_t>{0x00400000});  // secondary bus reset
  CHECK(StatusOf(&dev, CopyIn(host, 0, 4, 1)) == AXL_ST_OK);
  // The list's memory is freed by the reset.
  axl_desc d = CopyOut(host + 64, 0, 4, 2, 0, AXL_DESC_F_SG);
  d.copy.sg_count = 1;
  dev.Put(host + 64, std::vector<axl_sg>{{port + kBridgeControl, 4, 0}});
  dev.Push(0, d);
  dev.Ring(0);
  machine.Step(1000000);
  machine.ConfigWrite32(0, kPort, kBridgeControl, 0);
  dev = Device(&machine);
  CHECK(dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
  CHECK(dev.R32(AXL_REG_CTRL) == 0);
  CHECK(dev.R32(AXL_REG_Q_STATUS(0)) == 0);
  SetUp(&dev);
  CHECK(StatusOf(&dev, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 3)) == AXL_ST_OK);
}

TEST_CASE("a device that powers its own slot off by a copy goes in peace", "[bus]") {
  Machine machine({"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device",
                   "axl,id=axl0,bus=rp0"});
  Device dev(&machine);
  SetUp(&dev);
  constexpr unsigned kPort = 4 << 3;
  unsigned slot = 0;
  for (unsigned c = machine.ConfigRead32(0, kPort, 0x34) & 0xff; c && c < 0xff;
       c = machine.ConfigRead32(0, kPort, c) >> 8 & 0xff) {
    if ((machine.ConfigRead32(0, kPort, c) & 0xff) == 0x10) slot = c + 0x18;
  }
  uint64_t port = MapEcam(&machine, 0, kPort);
  uint64_t host = dev.Alloc(4);
  // Power controller and indicator off; only a device that was asked to leave is removed.
  machine.Qmp("{\"execute\":\"device_del\",\"arguments\":{\"id\":\"axl0\"}}");
  uint32_t off = (machine.ConfigRead32(0, kPort, slot) & 0xf8ff) | 0x700;
  dev.Put(host, std::vector<uint16_t>{static_cast<uint16_t>(off)});
  CHECK(StatusOf(&dev, CopyIn(host, 0, 2, 1)) == AXL_ST_OK);
  dev.Push(0, CopyOut(port + slot, 0, 2, 2, 0, kLast));
  dev.Ring(0);
  for (int i = 0; i < 20; i++) machine.Step(100000);
  machine.AwaitEvent("DEVICE_DELETED");
  CHECK(machine.Quit() == 0);
}

}  // namespace acceltrace::device
