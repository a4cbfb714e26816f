// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/on_device.h"

#include "qemu-device/tests/device.h"

namespace acceltrace::device {
namespace {

// A clock with ticks of 1 ns, so that records can be read in ns.
const char kPlainClock[] = ",clock-hz=1000000000,clock-ppm=0,clock-offset=0";

class DeviceBench : public Bench {
 public:
  explicit DeviceBench(const std::string& properties)
      : machine_({"-device", "axl,id=axl0,bus=rp0" + std::string(kPlainClock) + properties}),
        dev_(&machine_) {}

  bool Set(const std::string& property, int64_t value) override {
    return dev_.Set(property, value);
  }
  uint64_t HostMemory(uint64_t bytes) override { return dev_.Alloc(bytes); }

  Outcome Run(axl_desc d) override {
    dev_.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
    dev_.Enable();
    dev_.EnableContext(0);
    if (!ready_) {
      dev_.SetUpQueue(0, 0);
      dev_.SetUpTrace(0, 6, AXL_REC_CLASS(AXL_REC_CMD));
      ready_ = true;
    } else {
      dev_.Resume(0);
      dev_.ResumeTrace(0);
    }
    before_ = dev_.Latch();
    d.job = 1;
    d.flags |= kLast;
    dev_.Push(0, d);
    dev_.Ring(0);
    axl_cqe cqe = {};
    dev_.Await(0, &cqe, 10000000000);
    machine_.Step(5000);
    after_ = dev_.Latch();
    std::vector<axl_record> records = dev_.Records(0);
    if (records.size() != 1 || cqe.status != AXL_ST_OK) return {};
    const axl_rec_cmd& rec = records[0].cmd;
    Outcome out = {static_cast<double>(rec.end - rec.start),
                   rec.work,
                   Counted(AXL_CTR_DRAM_ROW_HITS),
                   Counted(AXL_CTR_DRAM_ROW_MISSES),
                   Counted(AXL_CTR_DRAM_ROW_CONFLICTS),
                   Counted(AXL_CTR_DRAM_READ_BYTES) + Counted(AXL_CTR_DRAM_WRITE_BYTES),
                   Counted(AXL_CTR_DRAM_USEFUL_BYTES)};
    // The record says the same as the counters.
    bool agree = rec.row_hits == out.row_hits &&
                 rec.row_misses == out.row_misses + out.row_conflicts;
    return agree ? out : Outcome{};
  }

 private:
  uint64_t Counted(axl_counter c) const { return after_[c] - before_[c]; }

  Machine machine_;
  Device dev_;
  bool ready_ = false;
  Counters before_ = {}, after_ = {};
};

}  // namespace

std::unique_ptr<Bench> MakeDeviceBench(const std::string& properties) {
  return std::make_unique<DeviceBench>(properties);
}

}  // namespace acceltrace::device
