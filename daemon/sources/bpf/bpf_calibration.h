// SPDX-License-Identifier: Apache-2.0
//
// What an event costs that a BPF program takes.
#ifndef DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_
#define DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_

#include "daemon/sources/common/calibration.h"

struct bpf_program;

namespace acceltrace::daemon {

// Each attaches the program, lets it run some hundred times in this thread and detaches it.
// 0 when it could not be attached: then no events of that kind come either.
Measured CalibrateTracepoint(bpf_program* program);
Measured CalibrateUsdt(bpf_program* program);
// A begin or an end of a system call, with the programs at one that SystemCalls::Prepare() chose.
Measured CalibrateSystemCall(bpf_program* begin, bpf_program* end);
// Likewise of a tracepoint's sample in a ring of perf's.
Measured CalibrateSample();

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_CALIBRATION_H_
