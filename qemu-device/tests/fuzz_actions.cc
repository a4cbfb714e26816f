// SPDX-License-Identifier: Apache-2.0
//
// The actions of fuzz.h, each mostly valid.
#include <algorithm>
#include <cstring>

#include "qemu-device/tests/fuzz_unit.h"

namespace acceltrace::device {

void Fuzz::SetUpQueue(Unit* u, unsigned q) {
  Reg(u, AXL_REG_Q_CTRL(q), 0);
  u->sq_log2[q] = static_cast<unsigned>(4 + Below(3));
  u->cq_log2[q] = static_cast<unsigned>(4 + Below(3));
  Reg(u, AXL_REG_Q_SQ_BASE(q), Chance(950) ? u->Sq(q) : Address(u), 8);
  Reg(u, AXL_REG_Q_CQ_BASE(q), Chance(950) ? u->Cq(q) : Address(u), 8);
  Reg(u, AXL_REG_Q_SQ_LOG2(q), Chance(970) ? u->sq_log2[q] : Number());
  Reg(u, AXL_REG_Q_CQ_LOG2(q), Chance(970) ? u->cq_log2[q] : Number());
  Reg(u, AXL_REG_Q_CONTEXT(q), Chance(970) ? Below(2) : Number());
  u->tail[q] = u->seen[q] = 0;
  Reg(u, AXL_REG_Q_CTRL(q), AXL_Q_ENABLE | (Chance(900) ? AXL_Q_IRQ_ENABLE : 0));
}

void Fuzz::SetUpRing(Unit* u, unsigned r) {
  static const std::vector<uint64_t> kPeriods = {0, 0, 1, 1000, 50000, 1000000, ~uint64_t{0}};
  uint64_t consumed = 0;
  Reg(u, AXL_REG_TR_CTRL(r), 0);
  Memory(u->Ring(r) + offsetof(axl_trace_header, consumed), &consumed, sizeof(consumed));
  Reg(u, AXL_REG_TR_BASE(r), Chance(950) ? u->Ring(r) : Address(u), 8);
  Reg(u, AXL_REG_TR_LOG2(r), Chance(970) ? 5 + Below(3) : Number());
  Reg(u, AXL_REG_TR_CLASSES(r), Chance(700) ? AXL_REC_CLASSES_ALL : Number());
  Reg(u, AXL_REG_TR_WATERMARK(r), Chance(700) ? Below(64) : Number());
  Reg(u, AXL_REG_TR_PERIOD_NS(r), Chance(900) ? Pick(kPeriods) : Number(), 8);
  Reg(u, AXL_REG_TR_CTRL(r), 1);
}

// Corrupts any field by its position; sizes stay small enough that a run ends soon.
void Fuzz::Spoil(Unit* u, axl_desc* d) {
  for (unsigned times = 1 + static_cast<unsigned>(Below(3)); times; times--) {
    uint64_t word;
    size_t at = 8 * Below(sizeof(*d) / 8);
    auto* bytes = reinterpret_cast<uint8_t*>(d);
    switch (Below(6)) {
      case 0:
        word = Chance(500) ? Address(u) : Number();
        std::memcpy(bytes + at, &word, 8);
        break;
      case 1:
        word = Number();
        std::memcpy(bytes + at + 4 * Below(2), &word, 4);
        break;
      case 2:
        bytes[Below(sizeof(*d))] ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 3:
        d->copy.host = Address(u);
        break;
      case 4:
        d->engine = static_cast<uint8_t>(Below(6));
        break;
      default:
        d->opcode = static_cast<uint8_t>(Chance(800) ? 0x40 + Below(15) : rng_());
    }
  }
}

void Fuzz::Submit(Unit* u) {
  unsigned q = static_cast<unsigned>(Below(4));
  uint32_t used = u->tail[q] - u->dev.R32(AXL_REG_Q_SQ_HEAD(q)), size = 1u << u->sq_log2[q];
  ops_++;
  uint64_t room = used < size ? size - used : Below(40) == 0;
  for (uint64_t n = std::min(1 + Below(6), room); n; n--) {
    std::vector<axl_sg> entries;
    uint64_t list = u->List() + 0x10000 * (u->lists % 32);
    axl_desc d = u->workload.Next(list, &entries);
    if (!entries.empty()) {
      u->lists++;
      if (Chance(150)) {
        axl_sg* sg = &entries[Below(entries.size())];
        (Chance(500) ? sg->addr : d.copy.host) = Address(u);
        if (Chance(300)) sg->bytes = static_cast<uint32_t>(Number());
        if (Chance(100)) sg->reserved = 1;
      }
      Memory(list, entries.data(), entries.size() * sizeof(entries[0]));
    }
    d.job = u->job += static_cast<uint32_t>(Below(2));
    d.index = static_cast<uint32_t>(Below(100));
    d.flags |= Chance(500) ? kLast : 0u;
    // Few semaphores and low values, so that most waits end.
    if (Chance(200)) d.signal_sem = static_cast<uint16_t>(Below(4));
    d.signal_value = Below(40);
    if (Chance(40)) d.wait_sem[Below(2)] = static_cast<uint16_t>(Below(4));
    d.wait_value[0] = Below(20);
    if (Chance(25)) Spoil(u, &d);
    uint64_t slot = u->tail[q]++ & ((1u << u->sq_log2[q]) - 1);
    Memory(u->Sq(q) + slot * sizeof(d), &d, sizeof(d));
  }
  if (Chance(600)) Doorbell(u);
}

void Fuzz::Doorbell(Unit* u) {
  auto q = static_cast<unsigned>(Below(4));
  uint32_t tail = u->tail[q];
  if (Chance(8)) tail = Chance(500) ? tail + static_cast<uint32_t>(Below(100)) : Number() & ~0u;
  Reg(u, AXL_REG_Q_SQ_TAIL(q), tail);
}

// Reports completions as consumed up to the device's index, as a driver would; sometimes another
// value.
void Fuzz::Consume(Unit* u) {
  auto q = static_cast<unsigned>(Below(4));
  if (Chance(30)) {
    Reg(u, AXL_REG_Q_CQ_HEAD(q), Number());
    return;
  }
  uint32_t tail = u->dev.R32(AXL_REG_Q_CQ_TAIL(q));
  // Count completions of this set-up of the queue since the last look.
  if (tail - u->seen[q] < 1u << AXL_MAX_QUEUES) completions_ += tail - u->seen[q];
  u->seen[q] = tail;
  Reg(u, AXL_REG_Q_CQ_HEAD(q), tail);
  if (u->dev.R32(AXL_REG_ID) != AXL_ID_MAGIC) {
    for (const char* fault : {"fault-removed", "fault-poison", "fault-fail-dmas"}) {
      u->dev.Set(fault, 0);
    }
    u->dev = Device(machine_.get(), u->port, "axl" + std::to_string(u->port));
    ops_ += 100;
    SetUp(u);
    return;
  }
  if (Chance(50)) u->dev.Set("fault-hang-engine", -1);
  // A halted context would refuse everything from here on.
  uint32_t context = u->dev.R32(AXL_REG_Q_CONTEXT(q)) % AXL_MAX_CONTEXTS;
  uint32_t status = u->dev.R32(AXL_REG_CTX_STATUS(context));
  ops_ += 3;
  if ((status & AXL_CTX_HALTED) && Chance(700)) {
    Reg(u, AXL_REG_CTX_CTRL(context), AXL_CTX_RESET);
    Reg(u, AXL_REG_CTX_CTRL(context), AXL_CTX_ENABLE);
    for (unsigned i = 0; i < 4; i++) SetUpQueue(u, i);
  }
}

void Fuzz::ConsumeTrace(Unit* u) {
  auto r = static_cast<unsigned>(Below(3));
  uint64_t base = u->Ring(r), consumed = Number();
  if (Chance(900)) {
    consumed = machine_->Read64(base + offsetof(axl_trace_header, produced));
    ops_++;
  }
  Memory(base + offsetof(axl_trace_header, consumed), &consumed, sizeof(consumed));
}

void Fuzz::Property(Unit* u) {
  static const std::vector<const char*> kNames = {"clock-hz",
                                                  "clock-ppm",
                                                  "clock-ppb",
                                                  "clock-ramp-ns",
                                                  "mmio-read-ns",
                                                  "link-speed",
                                                  "link-width",
                                                  "link-retrain-ns",
                                                  "pcie-mps",
                                                  "pcie-mrrs",
                                                  "pcie-tags",
                                                  "pcie-latency-ns",
                                                  "pcie-bandwidth",
                                                  "dram-bandwidth",
                                                  "dram-miss-ps",
                                                  "dram-conflict-ps",
                                                  "dram-rrd-ps",
                                                  "dram-latency-ns",
                                                  "scratch-bandwidth",
                                                  "clock-mhz",
                                                  "matrix-rate",
                                                  "vector-rate",
                                                  "dispatch-ns",
                                                  "dram-bytes",
                                                  "fault-lose-irqs",
                                                  "fault-late-irqs",
                                                  "fault-late-irq-ns",
                                                  "fault-dup-completions",
                                                  "fault-hang-engine",
                                                  "fault-stuck-ctx-resets",
                                                  "fault-fail-dmas",
                                                  "fault-poison",
                                                  "fault-ecc",
                                                  "fault-trace-stall",
                                                  "throttle-permille",
                                                  "fault-clock-step",
                                                  "fault-removed",
                                                  "fault-corrupt-completions",
                                                  "clock-read-asym-ns"};
  const char* name = Pick(kNames);
  static const std::vector<int64_t> kValues = {
      0, 1, 2, 3, 4, 8, 37, 64, 128, 256, 1000, 4096, 100000, 1000000, 1000000000, -1, -1000};
  int64_t value = Chance(900) ? Pick(kValues) : static_cast<int64_t>(Number());
  // Counted faults hit a few events and then stop, so that other things happen too.
  bool fault = !std::strncmp(name, "fault-", 6);
  if (fault && Chance(950)) value = static_cast<int64_t>(Below(3));
  u->dev.Set(name, value);
  ops_++;
  // Faults that stop everything are soon switched off again.
  for (const char* lasting : {"fault-removed", "fault-trace-stall", "fault-stuck-ctx-resets"}) {
    if (!std::strcmp(name, lasting) && Chance(800)) {
      machine_->Post("clock_step 1000");
      u->dev.Set(name, 0);
      ops_ += 2;
      if (!std::strcmp(name, "fault-removed")) SetUp(u);
    }
  }
  if (!std::strcmp(name, "fault-hang-engine") && Chance(600)) u->dev.Set(name, -1);
  for (const char* slow : {"clock-mhz", "dram-bandwidth", "matrix-rate", "vector-rate",
                           "scratch-bandwidth", "pcie-bandwidth", "dispatch-ns"}) {
    if (!std::strcmp(name, slow) && Chance(700)) {
      u->dev.Set(name, 1000);
      ops_++;
    }
  }
}

void Fuzz::Config(Unit* u) {
  auto offset = static_cast<unsigned>(4 * Below(Chance(800) ? 0x40 : 0x100));
  if (Chance(400)) {
    machine_->Post("outl 0xcf8 " +
                   std::to_string(0x80000000u | (u->port + 1) << 16 | (offset & 0xfc)));
    machine_->Post("inl 0xcfc");
    ops_ += 2;
    return;
  }
  u->dev.ConfigWrite(offset, static_cast<uint32_t>(Chance(300) ? Address(u) : Number()));
  ops_ += 2;
  if (Chance(700)) {  // BARs, command and messages as they were
    u->dev = Device(machine_.get(), u->port, "axl" + std::to_string(u->port));
    ops_ += 40;
  }
}

void Fuzz::Msix(Unit* u) {
  uint64_t entry = u->dev.regs() + 0x100000 + 16 * Below(AXL_NUM_MSIX);
  switch (Below(4)) {
    case 0:
      Write(entry + 12, Below(2), 4);
      break;
    case 1:
      Write(entry, Address(u), 8);
      break;
    case 2:
      Write(entry + 8, Number(), 4);
      break;
    default:  // a table and pending bits as a whole
      Read(u->dev.regs() + 0x100000 + Below(0x1000) / 4 * 4, 4);
      Write(u->dev.regs() + 0x100000 + Below(0x1000) / 4 * 4, Number(), 4);
  }
}

void Fuzz::Scribble(Unit* u) {
  uint64_t junk[8];
  for (uint64_t& word : junk) word = Chance(500) ? Number() : rng_();
  uint64_t offset = Chance(500) ? Below(0x200000) : Below(u->kHostBytes - sizeof(junk));
  Memory(u->host + offset, junk, 8 + Below(sizeof(junk) - 8));
}

void Fuzz::Window(Unit* u) {
  uint64_t at = u->dev.window() + Below(1 << 20);
  if (Chance(500)) {
    Read(at, 1u << Below(4));
  } else {
    Write(at, rng_(), 1u << Below(4));
  }
}

void Fuzz::Reset(Unit* u) {
  switch (Below(20)) {
    case 0:
      Reg(u, AXL_REG_CTRL, AXL_CTRL_RESET);
      SetUp(u);
      break;
    case 1:
      machine_->Qmp("{\"execute\":\"system_reset\"}");
      ops_++;
      for (auto& unit : unit_) {
        if (!unit) continue;
        unit->dev = Device(machine_.get(), unit->port, "axl" + std::to_string(unit->port));
        ops_ += 100;
        SetUp(unit.get());
      }
      break;
    case 2: {  // the bus below the port
      unsigned port = (4 + u->port) << 3;
      machine_->ConfigWrite32(0, port, 0x3c, 0x00400000);
      machine_->ConfigWrite32(0, port, 0x3c, 0);
      u->dev = Device(machine_.get(), u->port, "axl" + std::to_string(u->port));
      ops_ += 100;
      SetUp(u);
      break;
    }
    default: {
      auto context = static_cast<unsigned>(Below(2));
      Reg(u, AXL_REG_CTX_CTRL(context), AXL_CTX_RESET | Below(2));
      Reg(u, AXL_REG_CTX_CTRL(context), AXL_CTX_ENABLE);
      for (unsigned q = 0; q < 4; q++) SetUpQueue(u, q);
    }
  }
}

// Unplugs with work in flight, plugs in again later. Port 0 stays.
void Fuzz::Plug(unsigned number) {
  if (number == 0) return;
  unsigned port = (4 + number) << 3, slot = 0, left = 48;
  std::string n = std::to_string(number);
  for (unsigned c = machine_->ConfigRead32(0, port, 0x34) & 0xff; c && c < 0xff && left; left--) {
    uint32_t head = machine_->ConfigRead32(0, port, c);
    if ((head & 0xff) == 0x10) slot = c + 0x18;
    c = head >> 8 & 0xff;
  }
  if (slot == 0) return;
  uint32_t control = machine_->ConfigRead32(0, port, slot) & 0xf8ff;
  ops_ += 20;
  if (!unit_[number] || !Present(number)) {
    std::string reply = machine_->Qmp(
        "{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"axl\","
        "\"id\":\"axl" +
        n + "\",\"bus\":\"rp" + n + "\",\"dram-bytes\":33554432,\"window-bytes\":1048576}}");
    if (reply.find("\"return\"") == std::string::npos) return;
    machine_->ConfigWrite32(0, port, slot, control);
    Attach(number);
    return;
  }
  machine_->Qmp("{\"execute\":\"device_del\",\"arguments\":{\"id\":\"axl" + n + "\"}}");
  machine_->ConfigWrite32(0, port, slot, control | 0x0700);
  if (Present(number)) {
    machine_->ConfigWrite32(0, port, slot, control);  // not every state of the slot lets it go
  } else {
    unit_[number].reset();
  }
}

}  // namespace acceltrace::device
