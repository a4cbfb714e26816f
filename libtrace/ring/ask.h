// SPDX-License-Identifier: Apache-2.0
//
// Lets a process find out whether a tracer records it. The semaphore of a probe rises in all
// processes that have the library, so the process fires another probe. If the tracer records the
// process, its program at that probe sends a signal to the calling thread, which consumes it before
// it continues. A process that is not recorded gets no signal, maps no memory and waits for
// nothing. Internal.
#ifndef LIBTRACE_RING_ASK_H_
#define LIBTRACE_RING_ASK_H_

#include "libtrace/ring/writer.h"

namespace acceltrace::ring {

// Returns whether this process is recorded. Asks at most once per kAskAgainNs, since a recording
// may begin while the process runs.
bool Recorded(const Host& host);

// Returns true if this process was told once that it is not recorded: its earlier calls are then
// missing from the recording.
bool WasUnrecorded();

inline constexpr int64_t kAskAgainNs = 10'000'000;

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_ASK_H_
