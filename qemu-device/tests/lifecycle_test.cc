// SPDX-License-Identifier: Apache-2.0
//
// Starting, plugging, unplugging, several devices, migration, the truth log.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

// Returns the output and exit status of QEMU started with these arguments.
std::pair<int, std::string> Start(const std::string& device, const std::string& qemu = QemuPath()) {
  std::string so = ObjectPath();
  std::string command = "timeout 60 env LD_PRELOAD=" + so + ":" + so.substr(0, so.rfind('/')) +
                        "/qtest-accel.so " + qemu +
                        " -machine q35 -accel qtest -display none -nodefaults -device "
                        "pcie-root-port,id=rp0 -device '" +
                        device + "' -monitor none -serial none 2>&1 < /dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char line[512];
  while (std::fgets(line, sizeof(line), pipe)) out += line;
  int status = pclose(pipe);
  return {WEXITSTATUS(status), out};
}

void RunNop(Device* dev, uint32_t job) {
  axl_cqe cqe = {};
  dev->Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, job, 0, kLast));
  dev->Ring(0);
  REQUIRE(dev->Await(0, &cqe));
  CHECK(cqe.job == job);
}

void SetUp(Device* dev) {
  dev->Enable();
  dev->EnableContext(0);
  dev->SetUpQueue(0, 0);
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool Has(const std::string& line, const std::string& text) {
  return line.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("bad properties end QEMU with one line", "[lifecycle]") {
  struct {
    const char* device;
    const char* says;
  } bad[] = {
      {"axl,bus=rp0,pcie-width=3", "'pcie-width' must be a power of two"},
      {"axl,bus=rp0,dram-banks=12", "'dram-banks' must be a power of two"},
      {"axl,bus=rp0,queues=17", "'queues' must be 1 to 16"},
      {"axl,bus=rp0,model=fast", "'model' is 'full' or 'functional'"},
      {"axl,bus=rp0,truth=/nonexistent/truth", "cannot write truth log '/nonexistent/truth'"},
      {"axl,bus=rp0,dram-bytes=2000001", "multiples of 4 KiB"},
      {"axl,bus=rp0,no-such=1", "no-such"},
  };
  for (const auto& b : bad) {
    auto [status, out] = Start(b.device);
    INFO(b.device << ": " << out);
    CHECK(status == 1);
    CHECK(Has(out, b.says));
    CHECK(std::count(out.begin(), out.end(), '\n') == 1);
  }
}

TEST_CASE("migration is refused with the reason", "[lifecycle]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0"});
  std::string reply =
      machine.Qmp("{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"exec:cat > /dev/null\"}}");
  CHECK(Has(reply, "\"error\""));
  CHECK(Has(reply, "non-migratable device"));
  CHECK(Has(reply, "axl"));
}

TEST_CASE("a device can be plugged and unplugged at run time", "[lifecycle]") {
  Machine machine({"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"});
  constexpr unsigned port = (4 + 1) << 3;
  unsigned slot = 0;  // slot control of root port rp1
  for (unsigned c = machine.ConfigRead32(0, port, 0x34) & 0xff; c && c < 0xff;
       c = machine.ConfigRead32(0, port, c) >> 8 & 0xff) {
    if ((machine.ConfigRead32(0, port, c) & 0xff) == 0x10) slot = c + 0x18;
  }
  REQUIRE(slot != 0);
  for (int round = 0; round < 3; round++) {
    std::string reply = machine.Qmp(
        "{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"axl\",\"id\":\"hot\","
        "\"bus\":\"rp1\"}}");
    REQUIRE(Has(reply, "\"return\""));
    // The guest powers the slot on; then the device answers.
    machine.ConfigWrite32(0, port, slot, machine.ConfigRead32(0, port, slot) & 0xf8ff);
    Device dev(&machine, 1, "hot");
    REQUIRE(dev.R32(AXL_REG_ID) == AXL_ID_MAGIC);
    SetUp(&dev);
    dev.SetUpTrace(0, 6, AXL_REC_CLASSES_ALL, 0, 5000);
    RunNop(&dev, 7);
    // Work is in flight while it is removed.
    dev.Push(0, CopyIn(dev.Alloc(1 << 20), 0, 1 << 20, 8, 0, kLast));
    dev.Ring(0);
    machine.Step(3000);
    reply = machine.Qmp("{\"execute\":\"device_del\",\"arguments\":{\"id\":\"hot\"}}");
    REQUIRE(Has(reply, "\"return\""));
    // The guest powers it off: indicator and power controller.
    machine.ConfigWrite32(0, port, slot, (machine.ConfigRead32(0, port, slot) & 0xf8ff) | 0x0700);
    machine.AwaitEvent("DEVICE_DELETED");
    machine.ForgetEvents();
    machine.Step(10000000);
    CHECK(machine.Alive());
  }
  CHECK(machine.Quit() == 0);
}

TEST_CASE("several devices are apart: clocks, memory, queues", "[lifecycle]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0,clock-ppm=0,clock-offset=0", "-device",
                   "axl,id=axl1,bus=rp1,clock-hz=100000000,clock-ppm=0,clock-offset=5", "-device",
                   "axl,id=axl2,bus=rp2,model=functional"});
  Device a(&machine, 0, "axl0"), b(&machine, 1, "axl1"), c(&machine, 2, "axl2");
  for (Device* d : {&a, &b, &c}) SetUp(d);
  machine.Step(10000);
  CHECK(a.R64(AXL_REG_CLK_NOW) == 10000);
  CHECK(b.R64(AXL_REG_CLK_NOW) == 1005);
  RunNop(&a, 1);
  RunNop(&b, 2);
  RunNop(&c, 3);
  CHECK(a.Latch()[AXL_CTR_JOBS] == 1);
  CHECK(b.Latch()[AXL_CTR_JOBS] == 1);
  b.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  CHECK(b.Latch()[AXL_CTR_JOBS] == 0);
  RunNop(&a, 4);
}

TEST_CASE("one device copies from and to another's memory", "[lifecycle]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0", "-device", "axl,id=axl1,bus=rp1"});
  Device a(&machine, 0, "axl0"), b(&machine, 1, "axl1");
  SetUp(&a);
  SetUp(&b);
  std::vector<uint32_t> data(5000);
  for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<uint32_t>(i * 2654435761u);
  // Host to a; a pushes to b; b pulls from a elsewhere; b to host.
  uint64_t host = a.Alloc(data.size() * 4), back = b.Alloc(data.size() * 4);
  axl_cqe cqe;
  auto run = [&](Device* d, axl_desc desc) {
    desc.flags = kLast;
    d->Push(0, desc);
    d->Ring(0);
    REQUIRE(d->Await(0, &cqe));
    REQUIRE(cqe.status == AXL_ST_OK);
  };
  uint32_t bytes = static_cast<uint32_t>(data.size() * 4);
  a.Put(host, data);
  run(&a, CopyIn(host, 0x4000, bytes, 1));
  run(&a, CopyOut(b.window() + 0x100000, 0x4000, bytes, 2));
  CHECK(a.Get<uint32_t>(b.window() + 0x100000, 100) ==
        std::vector<uint32_t>(data.begin(), data.begin() + 100));
  run(&b, CopyIn(a.window() + 0x4000, 0x200000, bytes, 3));
  run(&b, CopyOut(back, 0x200000, bytes, 4));
  CHECK(b.Get<uint32_t>(back, data.size()) == data);
  run(&b, CopyOut(back, 0x100000, bytes, 5));
  CHECK(b.Get<uint32_t>(back, data.size()) == data);
  // A peer's registers: a doorbell rung by DMA is a doorbell.
  std::vector<uint32_t> bell = {6};
  b.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 50, 0, kLast));
  bell[0] = b.R32(AXL_REG_Q_SQ_HEAD(0)) + 1;
  a.Put(host, bell);
  run(&a, CopyIn(host, 0, 4, 6));
  run(&a, CopyOut(b.regs() + AXL_REG_Q_SQ_TAIL(0), 0, 4, 7));
  REQUIRE(b.Await(0, &cqe));
  CHECK(cqe.job == 50);
}

TEST_CASE("the window is device memory", "[lifecycle]") {
  Machine machine({"-device", "axl,id=axl0,bus=rp0,dram-bytes=16M,window-bytes=256M", "-device",
                   "axl,id=axl1,bus=rp1,window-bytes=0"});
  Device a(&machine, 0, "axl0"), b(&machine, 1, "axl1");
  SetUp(&a);
  machine.Write64(a.window() + 0x1008, 0x1122334455667788);
  axl_cqe cqe;
  uint64_t host = a.Alloc(4096);
  a.Push(0, CopyOut(host, 0x1000, 16, 1, 0, kLast));
  a.Ring(0);
  REQUIRE(a.Await(0, &cqe));
  CHECK(machine.Read64(host + 8) == 0x1122334455667788);
  CHECK((a.Config(0x18) & 0xf) == 0xc);  // 64-bit, prefetchable
  CHECK((b.R32(AXL_REG_FEATURES) & AXL_FEATURE_WINDOW) == 0);
  CHECK(b.Config(0x18) == 0);
}

TEST_CASE("the truth log is complete and whole when QEMU is killed", "[lifecycle]") {
  std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") +
                     "/axl-truth." + std::to_string(getpid());
  std::remove(path.c_str());
  {
    Machine machine({"-device", "axl,id=axl0,bus=rp0,truth=" + path});
    Device dev(&machine);
    SetUp(&dev);
    for (uint32_t j = 1; j <= 20; j++) {
      dev.Push(0, CopyIn(dev.Alloc(4096), 0, 4096, j, 0));
      dev.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, j, 1, kLast));
    }
    dev.Ring(0);
    axl_cqe cqe;
    for (uint32_t j = 1; j <= 20; j++) REQUIRE(dev.Await(0, &cqe));
    CHECK(dev.Set("dram-bandwidth", 5000));
    machine.Step(10000);
    kill(machine.pid(), SIGKILL);
  }
  std::vector<std::string> lines = Lines(path);
  REQUIRE(!lines.empty());
  CHECK(Has(lines[0], "{\"t\":\"meta\",\"version\":1,\"dev\":0"));
  CHECK(Has(lines[0], "\"pcie-latency-ns\":600"));
  int commands = 0, jobs = 0, doorbells = 0, knobs = 0;
  for (const std::string& line : lines) {
    CHECK(line.front() == '{');
    CHECK(line.back() == '}');
    CHECK(!Has(line, ",}"));
    commands += Has(line, "{\"t\":\"cmd\"");
    jobs += Has(line, "{\"t\":\"job\"");
    doorbells += Has(line, "{\"t\":\"doorbell\"");
    knobs += Has(line, "{\"t\":\"knob\"");
  }
  CHECK(commands == 40);
  CHECK(jobs == 20);
  CHECK(doorbells == 1);
  CHECK(knobs == 1);
  std::remove(path.c_str());
}

}  // namespace acceltrace::device
