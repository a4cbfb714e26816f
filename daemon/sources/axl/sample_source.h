// SPDX-License-Identifier: Apache-2.0
//
// The source of clock and counter samples taken through the driver.
//
// Clocks are sampled in a burst at both ends of the recording, where the estimator would otherwise
// extrapolate, and at the intervals of ClockWatch in between; after each sample the clock is also
// latched a few times. Counters are read at both ends; in between, the device samples them itself.
#ifndef DAEMON_SOURCES_AXL_SAMPLE_SOURCE_H_
#define DAEMON_SOURCES_AXL_SAMPLE_SOURCE_H_

#include <cstdint>
#include <memory>

#include "daemon/sources/axl/axl_device.h"
#include "daemon/sources/common/clock_watch.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class SampleSource : public Source {
 public:
  SampleSource(std::shared_ptr<AxlDevice> device, bool clocks, bool counters, EventHandler* handler)
      : device_(std::move(device)),
        clocks_(clocks),
        counters_(counters),
        handler_(handler),
        watch_(device_->info().clock_bits) {}

  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Checkpoint() override { Burst(); }
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  bool SampleClock();
  bool LatchClock();
  bool Tick(bool latch);
  void SampleCounters();
  void Burst();

  std::shared_ptr<AxlDevice> device_;
  bool clocks_;
  bool counters_;
  EventHandler* handler_;
  ClockWatch watch_;
  bool started_ = false;
  int64_t next_ns_ = 0;
  uint64_t taken_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_SAMPLE_SOURCE_H_
