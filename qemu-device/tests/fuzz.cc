// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/fuzz.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "qemu-device/tests/fuzz_unit.h"

namespace acceltrace::device {
namespace {

constexpr uint64_t kRam = 128 << 20, kEcam = 0xb0000000;

std::string Hex(uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

Fuzz::Fuzz(uint64_t seed) : rng_(seed), workload_seed_(static_cast<uint32_t>(seed)) {
  machine_ = std::make_unique<Machine>(Arguments());
  if (Chance(500)) {  // the machine's configuration space is in reach of DMA
    machine_->ConfigWrite32(0, 0, 0x64, 0);
    machine_->ConfigWrite32(0, 0, 0x60, static_cast<uint32_t>(kEcam) | 1);
  }
  unsigned devices = 1 + static_cast<unsigned>(seed % unit_.size());
  for (unsigned port = 0; port < devices; port++) Attach(port);
}

Fuzz::~Fuzz() = default;

std::vector<std::string> Fuzz::Arguments() {
  std::vector<std::string> args = {"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"};
  for (unsigned port = 0; port <= workload_seed_ % unit_.size(); port++) {
    std::string n = std::to_string(port), device = "axl,id=axl" + n + ",bus=rp" + n;
    auto maybe = [&](const char* name, std::vector<std::string> values) {
      if (Chance(400)) device += std::string(",") + name + "=" + Pick(values);
    };
    device += ",dram-bytes=32M,scratch-bytes=4M";
    if (workload_seed_ % 2) device += ",aside-work=1";  // each command on the other thread
    maybe("window-bytes", {"0", "4K", "1M", "32M"});
    maybe("queues", {"1", "3", "16"});
    maybe("contexts", {"1", "2", "8"});
    maybe("clock-bits", {"24", "32", "48", "64"});
    maybe("clock-offset", {"0", "9223372036854775807"});
    maybe("pcie-gen", {"1", "3", "5", "6"});
    maybe("pcie-width", {"1", "4", "16"});
    maybe("pcie-mps", {"128", "512", "4096"});
    maybe("pcie-mrrs", {"128", "4096"});
    maybe("pcie-rcb", {"64", "128"});
    maybe("dram-banks", {"1", "8", "64"});
    maybe("dram-row-bytes", {"256", "8192"});
    maybe("dram-burst-bytes", {"16", "256"});
    maybe("matrix-rows", {"4", "128"});
    maybe("matrix-cols", {"4", "256"});
    maybe("matrix-buffer-bytes", {"4K", "1M"});
    maybe("vector-lanes", {"1", "7", "1024"});
    maybe("truth", {"/dev/null"});
    if (Chance(100)) device += ",model=functional";
    args.insert(args.end(), {"-device", device});
  }
  return args;
}

void Fuzz::Attach(unsigned port) {
  unit_[port] = std::make_unique<Unit>(machine_.get(), port, workload_seed_);
  SetUp(unit_[port].get());
}

// A slot may release its device some time after the request.
bool Fuzz::Present(unsigned port) {
  std::string reply =
      machine_->Qmp("{\"execute\":\"qom-get\",\"arguments\":{\"path\":\"/machine/peripheral/axl" +
                    std::to_string(port) + "\",\"property\":\"type\"}}");
  return reply.find("\"return\"") != std::string::npos;
}

void Fuzz::SetUp(Unit* u) {
  Reg(u, AXL_REG_CTRL, AXL_CTRL_ENABLE);
  for (unsigned c = 0; c < AXL_MAX_CONTEXTS; c++) Reg(u, AXL_REG_CTX_CTRL(c), AXL_CTX_ENABLE);
  for (unsigned q = 0; q < 4; q++) SetUpQueue(u, q);
  SetUpRing(u, 0);
}

void Fuzz::Read(uint64_t address, unsigned bytes) {
  static const char* const kRead[] = {"readb ", "readw ", "readl ", "readq "};
  machine_->Post(kRead[bytes == 8 ? 3 : bytes == 4 ? 2 : bytes - 1] + Hex(address));
  ops_++;
}

void Fuzz::Write(uint64_t address, uint64_t value, unsigned bytes) {
  static const char* const kWrite[] = {"writeb ", "writew ", "writel ", "writeq "};
  if (bytes < 8) value &= (uint64_t{1} << 8 * bytes) - 1;
  machine_->Post(kWrite[bytes == 8   ? 3
                        : bytes == 4 ? 2
                                     : bytes - 1] +
                 Hex(address) + " " + Hex(value));
  ops_++;
}

void Fuzz::Reg(Unit* u, uint64_t reg, uint64_t value, unsigned bytes) {
  Write(u->dev.regs() + reg, value, bytes);
}

void Fuzz::Memory(uint64_t address, const void* data, size_t bytes) {
  static const char kDigits[] = "0123456789abcdef";
  const auto* p = static_cast<const uint8_t*>(data);
  std::string line = "write " + Hex(address) + " " + Hex(bytes) + " 0x";
  for (size_t i = 0; i < bytes; i++) {
    line += kDigits[p[i] >> 4];
    line += kDigits[p[i] & 15];
  }
  machine_->Post(line);
  ops_++;
}

uint64_t Fuzz::Number() {
  switch (Below(6)) {
    case 0:
      return Below(17);
    case 1:
      return uint64_t{1} << Below(64);
    case 2:
      return (uint64_t{1} << Below(64)) - 1;
    case 3:
      return ~Below(300);
    case 4:
      return Below(1 << 20);
    default:
      return rng_();
  }
}

uint64_t Fuzz::Address(Unit* u) {
  Unit* other = unit_[Below(unit_.size())].get();
  Device& peer = other ? other->dev : u->dev;
  switch (Below(12)) {
    case 0:
      return u->dev.regs() + Below(AXL_REGS_BYTES);
    case 1:
      return u->dev.window() + Below(1 << 20);
    case 2:
      return u->dev.regs() + 0x100000 + Below(0x1000);
    case 3:
      return peer.regs() + Below(AXL_REGS_BYTES);
    case 4:
      return peer.regs() + AXL_REG_Q_SQ_TAIL(Below(4));
    case 5:
      return peer.window() + Below(1 << 20);
    case 6:  // own and others' configuration space
      return kEcam + (Below(4) << 20) + Below(4096);
    case 7:
      return kRam - Below(8192);
    case 8:
      return Number();
    default:
      return u->host + Below(u->kHostBytes);
  }
}

uint64_t Fuzz::Register(unsigned* bytes) {
  static const std::vector<uint64_t> kQueue = {0,    8,    0x10, 0x14, 0x18, 0x1c,
                                               0x20, 0x24, 0x28, 0x2c, 0x30, 0x34};
  static const std::vector<uint64_t> kRing = {0, 8, 0xc, 0x10, 0x14, 0x18, 0x20, 0x28, 0x30};
  static const std::vector<uint64_t> kTop = {
      AXL_REG_ID,          AXL_REG_CTRL,     AXL_REG_STATUS,    AXL_REG_INT_STATUS,
      AXL_REG_INT_MASK,    AXL_REG_CLK_NOW,  AXL_REG_CLK_LATCH, AXL_REG_CLK_LATCHED,
      AXL_REG_PTM_TRIGGER, AXL_REG_PTM_HOST, AXL_REG_CTR_LATCH, AXL_REG_CTR_CTRL,
      AXL_REG_CTR_TIME,    AXL_REG_DRAM_BPS, AXL_REG_ENGINE_HZ, AXL_REG_CLEAR_BASE,
      AXL_REG_CLEAR_BYTES, AXL_REG_CLEAR_CTRL};
  *bytes = Chance(30) ? 1u << Below(2) : 4u << Below(2);
  switch (Below(7)) {
    case 0:
      return Pick(kTop);
    case 1:
    case 2:
      return AXL_REG_Q(Below(AXL_MAX_QUEUES)) + Pick(kQueue);
    case 3:
      return AXL_REG_TR(Below(AXL_MAX_TRACE_RINGS)) + Pick(kRing);
    case 4:
      return AXL_REG_CTX(Below(AXL_MAX_CONTEXTS)) + 4 * Below(8);
    case 5:
      return AXL_REG_ENG(Below(AXL_NUM_ENGINES)) + 4 * Below(4);
    default:  // anywhere, the end and odd addresses too
      return Chance(100) ? AXL_REGS_BYTES - 1 - Below(8) : Below(AXL_REGS_BYTES);
  }
}

void Fuzz::ReadSomething(Unit* u) {
  unsigned bytes;
  uint64_t reg = Register(&bytes);
  Read(u->dev.regs() + std::min<uint64_t>(reg, AXL_REGS_BYTES - bytes), bytes);
}

void Fuzz::WriteSomething(Unit* u) {
  unsigned bytes;
  uint64_t reg = Register(&bytes);
  uint64_t value = Chance(300) ? Address(u) : Number();
  if (reg == AXL_REG_CTRL && Chance(800)) value = AXL_CTRL_ENABLE;
  if ((reg == AXL_REG_CLEAR_BASE || reg == AXL_REG_CLEAR_BYTES) && Chance(700)) {
    value = 4096 * Below(256);
  }
  Write(u->dev.regs() + std::min<uint64_t>(reg, AXL_REGS_BYTES - bytes), value, bytes);
}

void Fuzz::Step(Unit* u) {
  // Weights per thousand; actions that break a set-up are rare, so that work is done in between.
  switch (Below(1000)) {
    case 0 ... 39:
      Property(u);
      break;
    case 40 ... 179:
      ReadSomething(u);
      break;
    case 180 ... 229:
      WriteSomething(u);
      break;
    case 230 ... 239:
      SetUpQueue(u, static_cast<unsigned>(Below(Chance(900) ? 4 : AXL_MAX_QUEUES)));
      break;
    case 240 ... 499:
      Submit(u);
      break;
    case 500 ... 599:
      Doorbell(u);
      break;
    case 600 ... 669:
      Consume(u);
      break;
    case 670 ... 679:
      SetUpRing(u, static_cast<unsigned>(Below(Chance(800) ? 3 : AXL_MAX_TRACE_RINGS)));
      break;
    case 680 ... 719:
      ConsumeTrace(u);
      break;
    case 720 ... 734:
      Config(u);
      break;
    case 735 ... 754:
      Msix(u);
      break;
    case 755 ... 764:
      Scribble(u);
      break;
    case 765 ... 779:
      Window(u);
      break;
    case 780 ... 783:
      Reset(u);
      break;
    default:
      machine_->Post("clock_step " + std::to_string(Chance(20) ? Below(3000000) : Below(100000)));
      ops_++;
  }
}

uint64_t Fuzz::Run(uint64_t operations) {
  while (ops_ < operations) {
    unsigned port = static_cast<unsigned>(Below(unit_.size()));
    if (Chance(1)) Plug(port);
    if (unit_[port]) Step(unit_[port].get());
  }
  machine_->Flush();
  return ops_;
}

uint64_t Fuzz::PeakBytes() {
  std::ifstream status("/proc/" + std::to_string(machine_->pid()) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

bool Fuzz::StillWorks() {
  for (unsigned port = 0; port < unit_.size(); port++) {
    if (!unit_[port] || !Present(port)) continue;
    Unit fresh(machine_.get(), port, 1);
    Device& dev = fresh.dev;
    for (const char* fault : {"fault-removed", "fault-lose-irqs", "fault-fail-dmas", "fault-poison",
                              "fault-corrupt-completions", "fault-dup-completions"}) {
      if (!dev.Set(fault, 0)) {
        std::fprintf(stderr, "axl%u: %s cannot be set\n", port, fault);
        return false;
      }
    }
    dev.Set("fault-hang-engine", -1);
    fresh.dev = Device(machine_.get(), port, "axl" + std::to_string(port));  // pulled: BARs anew
    dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    dev.Enable();
    dev.EnableContext(0);
    dev.SetUpQueue(0, 0);
    dev.Push(0, Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 77, 0, kLast));
    dev.Ring(0);
    axl_cqe cqe = {};
    if (!dev.Await(0, &cqe, 10000000000) || cqe.job != 77 || cqe.status != AXL_ST_OK) {
      std::fprintf(stderr,
                   "axl%u: ID %x, CTRL %x, Q_STATUS %x, CTX_STATUS %x, SQ_HEAD %u, CQ_TAIL %u, "
                   "completion of job %u with status %u\n",
                   port, dev.R32(AXL_REG_ID), dev.R32(AXL_REG_CTRL), dev.R32(AXL_REG_Q_STATUS(0)),
                   dev.R32(AXL_REG_CTX_STATUS(0)), dev.R32(AXL_REG_Q_SQ_HEAD(0)),
                   dev.R32(AXL_REG_Q_CQ_TAIL(0)), cqe.job, cqe.status);
      return false;
    }
  }
  return true;
}

}  // namespace acceltrace::device
