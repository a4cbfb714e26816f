// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of the tracer's own operations on this machine. The recorder does this before a
// recording begins; it takes about two milliseconds.
#ifndef DAEMON_SOURCES_COMMON_CALIBRATION_H_
#define DAEMON_SOURCES_COMMON_CALIBRATION_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace acceltrace::daemon {

struct Measured {
  double ns = 0;
  double error_ns = 0;  // largest deviation of the rounds, without outliers
};

// Returns the median of the rounds, or 0 if there are none.
Measured Middle(std::vector<double> rounds);

// Returns the cost of `once` minus that of `nothing`, in `rounds` rounds of `times` calls.
Measured CostOf(const std::function<void()>& once, const std::function<void()>& nothing, int rounds,
                int times);

// The cost of an event in a shared memory ring: of a call, and of an event with a text.
enum class RingCall { kBegin, kBeginWithoutStream, kEnd };
Measured MeasureRingEvent(RingCall call);
Measured MeasureRingText();

// What the driver reads in addition for a job's tracepoint: the clock at the ioctl, the doorbell
// and the interrupt, and the TSC in between (kmod/axl_submit.c, axl_irq.c). The kernel reads both
// in the same way.
Measured MeasureJobStamps();

// What waking a sleeping thread costs the thread that runs on its CPU, in addition to the work
// itself: the timer's interrupt and two context switches. Measured by another thread on that CPU.
Measured MeasureWakeUp();

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_CALIBRATION_H_
