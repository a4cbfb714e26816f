// SPDX-License-Identifier: Apache-2.0
//
// What the tracer's own doings cost on this machine, measured in the recorder before a
// recording begins: about two milliseconds.
#ifndef DAEMON_SOURCES_COMMON_CALIBRATION_H_
#define DAEMON_SOURCES_COMMON_CALIBRATION_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace acceltrace::daemon {

struct Measured {
  double ns = 0;
  double error_ns = 0;  // the rounds differ by so much from it, the wildest left out
};

// The middle of the rounds. Empty: 0.
Measured Middle(std::vector<double> rounds);

// What `once` takes, less what `nothing` does; rounds of times each.
Measured CostOf(const std::function<void()>& once, const std::function<void()>& nothing, int rounds,
                int times);

// An event that is written into a ring in shared memory: of a call, and one with a text.
enum class RingCall { kBegin, kBeginWithoutStream, kEnd };
Measured MeasureRingEvent(RingCall call);
Measured MeasureRingText();

// What the driver reads for a job's tracepoint besides: the clock at the ioctl, the doorbell and
// the interrupt, and the TSC in between (kmod/axl_submit.c, axl_irq.c). The kernel reads both as
// this does.
Measured MeasureJobStamps();

// What waking a sleeping thread takes from whoever has its CPU, besides what the thread
// then does: the timer's interrupt and two switches. As seen by another thread on that CPU.
Measured MeasureWakeUp();

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_CALIBRATION_H_
