// SPDX-License-Identifier: Apache-2.0
//
// The records of a device's own trace ring. Room: daemon/sources.
#ifndef DAEMON_SOURCES_DEVICE_SOURCE_H_
#define DAEMON_SOURCES_DEVICE_SOURCE_H_

#include <functional>
#include <memory>
#include <vector>

#include "daemon/sources/axl_device.h"
#include "daemon/sources/ring_hub.h"
#include "daemon/sources/source.h"

namespace acceltrace::daemon {

class DeviceSource : public Source {
 public:
  // Whether a record belongs to the recording.
  using Filter = std::function<bool(uint32_t device, const axl_record&)>;

  DeviceSource(std::shared_ptr<AxlDevice> device, uint64_t counter_period_ns, Filter wanted,
               EventHandler* handler)
      : device_(std::move(device)),
        counter_period_ns_(counter_period_ns),
        wanted_(std::move(wanted)),
        handler_(handler) {}

  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  std::vector<Hop> Hops() override;
  void Stop() override;

  // Readable when there is much to drain.
  int wake_fd() const { return ring_->wake_fd(); }

 private:
  void Handle(const axl_record& record);
  // Returns whether there are more.
  bool HandleSome(size_t max_records);
  void TellLoss(uint64_t count, uint64_t first_ticks, uint64_t last_ticks, const char* hop);

  std::shared_ptr<AxlDevice> device_;
  uint64_t counter_period_ns_;
  Filter wanted_;
  EventHandler* handler_;
  std::unique_ptr<RingHub::Subscription> ring_;
  std::vector<axl_record> taken_;  // off the ring
  size_t handled_ = 0;             // of taken_
  uint64_t foreign_ = 0;           // other processes' records, not part of this recording
  uint64_t loss_records_ = 0;
  uint64_t loss_dated_ = 0;  // losses that a loss record told of
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_DEVICE_SOURCE_H_
