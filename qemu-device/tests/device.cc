// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/device.h"

#include <cstdlib>

namespace acceltrace::device {
namespace {

// Addresses of the devices; each has 64 MiB for registers and 4 GiB for the window.
constexpr uint64_t kRegs = 0xe0000000, kRegsStep = 0x4000000;
constexpr uint64_t kWindow = 0x800000000, kWindowStep = 0x100000000;
constexpr uint64_t kHostMemory = 0x1000000, kHostStep = 0x1800000;
constexpr uint32_t kMessage = 0x5a000000;

}  // namespace

Device::Device(Machine* machine, unsigned port, std::string id)
    : machine_(machine), id_(std::move(id)), bus_(port + 1) {
  unsigned bridge = (4 + port) << 3;
  regs_ = kRegs + port * kRegsStep;
  msix_ = regs_ + 0x100000;
  window_ = kWindow + port * kWindowStep;
  next_ = kHostMemory + port * kHostStep;
  machine_->ConfigWrite32(0, bridge, 0x18, bus_ << 16 | bus_ << 8);
  machine_->ConfigWrite32(0, bridge, 0x20,
                          static_cast<uint32_t>((regs_ + kRegsStep - 1) >> 16 << 16 | regs_ >> 16));
  machine_->ConfigWrite32(0, bridge, 0x24,
                          static_cast<uint32_t>((window_ & 0xfff00000) >> 16) | 0xfff00000u);
  machine_->ConfigWrite32(0, bridge, 0x28, static_cast<uint32_t>(window_ >> 32));
  machine_->ConfigWrite32(0, bridge, 0x2c, static_cast<uint32_t>(window_ >> 32));
  machine_->ConfigWrite32(0, bridge, 0x04, 0x6);
  ConfigWrite(0x10, static_cast<uint32_t>(regs_));
  ConfigWrite(0x18, static_cast<uint32_t>(window_));
  ConfigWrite(0x1c, static_cast<uint32_t>(window_ >> 32));
  ConfigWrite(0x20, static_cast<uint32_t>(msix_));
  ConfigWrite(0x04, 0x6);
  messages_ = Alloc(4096);
  for (unsigned v = 0; v < AXL_NUM_MSIX; v++) {
    machine_->Write32(msix_ + 16 * v, static_cast<uint32_t>(messages_ + 4 * v));
    machine_->Write32(msix_ + 16 * v + 4, 0);
    machine_->Write32(msix_ + 16 * v + 8, kMessage | v);
    machine_->Write32(msix_ + 16 * v + 12, 0);
  }
  for (unsigned cap = Config(0x34) & 0xff; cap && cap < 0xff; cap = Config(cap) >> 8 & 0xff) {
    if ((Config(cap) & 0xff) == 0x11) ConfigWrite(cap, Config(cap) | 0x80000000u);
  }
}

unsigned Device::ExpressCap() {
  for (unsigned cap = Config(0x34) & 0xff; cap && cap < 0xff; cap = Config(cap) >> 8 & 0xff) {
    if ((Config(cap) & 0xff) == 0x10) return cap;
  }
  return 0;
}

uint64_t Device::Alloc(uint64_t bytes, uint64_t align) {
  next_ = (next_ + align - 1) / align * align;
  uint64_t at = next_;
  next_ += bytes;
  return at;
}

void Device::SetUpQueue(unsigned q, unsigned context, unsigned sq_log2, unsigned cq_log2) {
  Queue& queue = queue_[q];
  queue = {.sq = Alloc(sizeof(axl_desc) << sq_log2),
           .cq = Alloc(sizeof(axl_cqe) << cq_log2),
           .sq_log2 = sq_log2,
           .cq_log2 = cq_log2,
           .context = context};
  Resume(q);
}

void Device::Resume(unsigned q) {
  Queue& queue = queue_[q];
  queue.tail = queue.head = 0;
  Put(queue.cq, std::vector<uint8_t>(sizeof(axl_cqe) << queue.cq_log2));
  W64(AXL_REG_Q_SQ_BASE(q), queue.sq);
  W64(AXL_REG_Q_CQ_BASE(q), queue.cq);
  W32(AXL_REG_Q_SQ_LOG2(q), queue.sq_log2);
  W32(AXL_REG_Q_CQ_LOG2(q), queue.cq_log2);
  W32(AXL_REG_Q_CONTEXT(q), queue.context);
  W32(AXL_REG_Q_CTRL(q), AXL_Q_ENABLE | AXL_Q_IRQ_ENABLE);
}

void Device::Push(unsigned q, const axl_desc& d) {
  Queue& queue = queue_[q];
  uint64_t slot = queue.tail++ & ((1u << queue.sq_log2) - 1);
  machine_->WriteMem(queue.sq + slot * sizeof(d),
                     {reinterpret_cast<const uint8_t*>(&d), sizeof(d)});
}

void Device::Ring(unsigned q) { W32(AXL_REG_Q_SQ_TAIL(q), queue_[q].tail); }

bool Device::Poll(unsigned q, axl_cqe* cqe) {
  Queue& queue = queue_[q];
  uint64_t slot = queue.head & ((1u << queue.cq_log2) - 1);
  machine_->ReadMem(queue.cq + slot * sizeof(*cqe),
                    {reinterpret_cast<uint8_t*>(cqe), sizeof(*cqe)});
  if (cqe->phase != !(queue.head >> queue.cq_log2 & 1)) return false;
  queue.head++;
  W32(AXL_REG_Q_CQ_HEAD(q), queue.head);
  return true;
}

bool Device::Await(unsigned q, axl_cqe* cqe, int64_t limit_ns) {
  for (int64_t waited = 0, step = 1000; waited < limit_ns; waited += step, step += step / 4) {
    if (Poll(q, cqe)) return true;
    machine_->Step(step);
  }
  return Poll(q, cqe);
}

uint32_t Device::Messages(unsigned vector) {
  uint32_t data = machine_->Read32(messages_ + 4 * vector);
  if (data) machine_->Write32(messages_ + 4 * vector, 0);
  return data;
}

void Device::SetUpTrace(unsigned ring, unsigned log2, uint32_t classes, uint32_t watermark,
                        uint64_t period_ns) {
  uint64_t bytes = AXL_TRACE_HEADER_BYTES + (uint64_t{AXL_TRACE_RECORD_BYTES} << log2);
  trace_[ring] = {.base = Alloc(bytes),
                  .log2 = log2,
                  .classes = classes,
                  .watermark = watermark,
                  .period_ns = period_ns};
  ResumeTrace(ring);
}

void Device::ResumeTrace(unsigned ring) {
  Trace& t = trace_[ring];
  t.read = 0;
  Put(t.base, std::vector<uint8_t>(sizeof(axl_trace_header)));
  W64(AXL_REG_TR_BASE(ring), t.base);
  W32(AXL_REG_TR_LOG2(ring), t.log2);
  W32(AXL_REG_TR_CLASSES(ring), t.classes);
  W32(AXL_REG_TR_WATERMARK(ring), t.watermark);
  W64(AXL_REG_TR_PERIOD_NS(ring), t.period_ns);
  W32(AXL_REG_TR_CTRL(ring), 1);
}

axl_trace_header Device::TraceHeader(unsigned ring) {
  R32(AXL_REG_ID);  // what has happened by now is in the ring, not some microseconds later
  return Get<axl_trace_header>(trace_[ring].base, 1)[0];
}

std::vector<axl_record> Device::Records(unsigned ring, bool consume) {
  Trace& t = trace_[ring];
  std::vector<axl_record> out;
  uint64_t produced = TraceHeader(ring).produced, size = 1ull << t.log2;
  for (; t.read < produced; t.read++) {
    uint64_t at = t.base + AXL_TRACE_HEADER_BYTES + (t.read & (size - 1)) * AXL_TRACE_RECORD_BYTES;
    out.push_back(Get<axl_record>(at, 1)[0]);
  }
  if (consume) machine_->Write64(t.base + offsetof(axl_trace_header, consumed), t.read);
  return out;
}

Counters Device::Latch() {
  Counters c;
  W32(AXL_REG_CTR_LATCH, 1);
  machine_->ReadMem(regs_ + AXL_REG_CTR(0), {reinterpret_cast<uint8_t*>(c.data()), sizeof(c)});
  return c;
}

Counters Device::ContextCounters(unsigned ctx) {
  Counters c;
  machine_->ReadMem(regs_ + AXL_REG_CTX_CTR(ctx, 0),
                    {reinterpret_cast<uint8_t*>(c.data()), sizeof(c)});
  return c;
}

}  // namespace acceltrace::device
