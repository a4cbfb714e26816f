// SPDX-License-Identifier: Apache-2.0
//
// The source of the records in a device's own trace ring.
#ifndef DAEMON_SOURCES_AXL_DEVICE_SOURCE_H_
#define DAEMON_SOURCES_AXL_DEVICE_SOURCE_H_

#include <memory>

#include "daemon/sources/axl/axl_device.h"
#include "daemon/sources/axl/record_intake.h"
#include "daemon/sources/axl/ring_hub.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class DeviceSource : public Source {
 public:
  using Filter = RecordIntake::Filter;

  DeviceSource(std::shared_ptr<AxlDevice> device, uint64_t counter_period_ns, Filter wanted,
               EventHandler* handler);

  Status Start() override;
  void Begin() override { ring_->Begin(); }
  Pace Drain(int64_t now_ns) override;
  void Mark() override { ring_->Mark(); }
  bool PassedMark() override { return ring_->PassedMark(); }
  std::vector<Hop> Hops() override;
  void Flush() override;
  void Stop() override;

  WakeFd wake() const override { return {ring_->wake_fd(), WakeFd::kLevel}; }
  uint32_t fill_permille() const override { return ring_->fill_permille(); }

 private:
  void ReportLoss(uint64_t count, const char* hop);

  std::shared_ptr<AxlDevice> device_;
  uint64_t counter_period_ns_;
  EventHandler* handler_;
  std::unique_ptr<RingHub::Subscription> ring_;
  RecordIntake intake_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DEVICE_SOURCE_H_
