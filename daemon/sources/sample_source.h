// SPDX-License-Identifier: Apache-2.0
//
// Clock and counter samples taken through the driver. Room: daemon/sources.
#ifndef DAEMON_SOURCES_SAMPLE_SOURCE_H_
#define DAEMON_SOURCES_SAMPLE_SOURCE_H_

#include <cstdint>
#include <memory>

#include "daemon/sources/axl_device.h"
#include "daemon/sources/source.h"

namespace acceltrace::daemon {

// When to sample a clock: a burst at both ends of the recording, where the
// estimator would otherwise extrapolate, and a steady pace in between.
struct SamplePolicy {
  int burst = 32;                  // samples at the start and at the end
  int64_t period_ns = 20'000'000;  // in between
};

class SampleSource : public Source {
 public:
  SampleSource(std::shared_ptr<AxlDevice> device, bool clocks, bool counters, SamplePolicy policy,
               EventHandler* handler)
      : device_(std::move(device)),
        clocks_(clocks),
        counters_(counters),
        policy_(policy),
        handler_(handler) {}

  Status Start() override;
  uint32_t Drain(int64_t now_ns) override;
  void Stop() override;

 private:
  bool SampleClock();
  void SampleCounters();
  void Burst();

  std::shared_ptr<AxlDevice> device_;
  bool clocks_;
  bool counters_;
  SamplePolicy policy_;
  EventHandler* handler_;
  bool started_ = false;
  int64_t next_ns_ = 0;
  uint64_t taken_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SAMPLE_SOURCE_H_
