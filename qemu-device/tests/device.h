// SPDX-License-Identifier: Apache-2.0
//
// An axl device in a Machine, set up as a driver would do it: BARs mapped, MSI-X messages
// pointed at host memory, rings and queues on request. A bump allocator provides host
// memory.
//
#ifndef QEMU_DEVICE_TESTS_DEVICE_H_
#define QEMU_DEVICE_TESTS_DEVICE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kmod/uapi/axl_counters.h"
#include "kmod/uapi/axl_hw.h"
#include "qemu-device/tests/descriptors.h"
#include "qemu-device/tests/machine.h"

namespace acceltrace::device {

using Counters = std::array<uint64_t, AXL_NUM_COUNTERS>;

class Device {
 public:
  // The device behind root port `port`; `id` is its -device id.
  explicit Device(Machine* machine, unsigned port = 0, std::string id = "axl0");

  Machine& machine() { return *machine_; }
  uint64_t regs() const { return regs_; }
  uint64_t window() const { return window_; }
  std::string path() const { return "/machine/peripheral/" + id_; }
  bool Set(const std::string& property, int64_t value) {
    return machine_->Set(path(), property, value);
  }

  uint32_t R32(uint64_t reg) { return machine_->Read32(regs_ + reg); }
  uint64_t R64(uint64_t reg) { return machine_->Read64(regs_ + reg); }
  void W32(uint64_t reg, uint32_t v) { machine_->Write32(regs_ + reg, v); }
  void W64(uint64_t reg, uint64_t v) { machine_->Write64(regs_ + reg, v); }
  uint32_t Config(unsigned offset) { return machine_->ConfigRead32(bus_, 0, offset); }
  void ConfigWrite(unsigned offset, uint32_t v) { machine_->ConfigWrite32(bus_, 0, offset, v); }
  unsigned ExpressCap();  // offset of the PCI Express capability

  uint64_t Alloc(uint64_t bytes, uint64_t align = 4096);
  template <typename T>
  void Put(uint64_t addr, const std::vector<T>& v) {
    machine_->WriteMem(addr, {reinterpret_cast<const uint8_t*>(v.data()), v.size() * sizeof(T)});
  }
  template <typename T>
  std::vector<T> Get(uint64_t addr, size_t count) {
    std::vector<T> v(count);
    machine_->ReadMem(addr, {reinterpret_cast<uint8_t*>(v.data()), count * sizeof(T)});
    return v;
  }

  void Enable() { W32(AXL_REG_CTRL, AXL_CTRL_ENABLE); }
  void EnableContext(unsigned c) { W32(AXL_REG_CTX_CTRL(c), AXL_CTX_ENABLE); }
  // Allocates rings in host memory and enables the queue.
  void SetUpQueue(unsigned q, unsigned context, unsigned sq_log2 = 6, unsigned cq_log2 = 6);
  // Enables the same rings again after a device reset.
  void Resume(unsigned q);
  void ResumeTrace(unsigned ring);
  // Writes descriptors without ringing; Ring() rings for all written so far.
  void Push(unsigned q, const axl_desc& d);
  void Ring(unsigned q);
  // Takes the next completion of the queue if there is one.
  bool Poll(unsigned q, axl_cqe* cqe);
  // Steps the clock until a completion comes; false after `limit_ns`.
  bool Await(unsigned q, axl_cqe* cqe, int64_t limit_ns = 1000000000);
  uint32_t Messages(unsigned vector);  // MSI-X data at the vector's address, then cleared

  void SetUpTrace(unsigned ring, unsigned log2, uint32_t classes, uint32_t watermark = 0,
                  uint64_t period_ns = 0);
  // Returns new records since the last call; reports them as consumed if `consume`.
  std::vector<axl_record> Records(unsigned ring, bool consume = true);
  axl_trace_header TraceHeader(unsigned ring);

  Counters Latch();  // latches, then reads all
  Counters ContextCounters(unsigned c);

 private:
  struct Queue {
    uint64_t sq = 0, cq = 0;
    unsigned sq_log2 = 0, cq_log2 = 0, context = 0;
    uint32_t tail = 0, head = 0;
  };
  struct Trace {
    uint64_t base = 0;
    unsigned log2 = 0;
    uint32_t classes = 0, watermark = 0;
    uint64_t period_ns = 0;
    uint64_t read = 0;
  };

  Machine* machine_;
  std::string id_;
  unsigned bus_;
  uint64_t regs_, window_, msix_;
  uint64_t next_;
  uint64_t messages_;
  std::array<Queue, AXL_MAX_QUEUES> queue_;
  std::array<Trace, AXL_MAX_TRACE_RINGS> trace_;
};

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_DEVICE_H_
