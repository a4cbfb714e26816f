// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of an event that a BPF program records.
#ifndef DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_
#define DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_

#include "daemon/sources/common/calibration.h"

struct bpf_program;

namespace acceltrace::daemon {

// Each function attaches the program, runs it some hundred times in this thread and detaches it.
// Returns 0 if it cannot be attached: then there are no events of that kind either.
Measured CalibrateTracepoint(bpf_program* program);
Measured CalibrateUsdt(bpf_program* program);
// The cost of the begin or the end of a system call, with programs that SystemCalls::Prepare() has
// prepared.
Measured CalibrateSystemCall(bpf_program* begin, bpf_program* end);
// The cost of a tracepoint's sample in a perf ring.
Measured CalibrateSample();

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_
