// SPDX-License-Identifier: Apache-2.0
//
// How a process learns whether it is the one that a tracer records: a semaphore rises in all
// processes that have the library. It fires a probe; the tracer's program there answers a process
// that it records with a signal to the calling thread, which that takes off before it goes on. A
// process that is not recorded gets none: it maps nothing and waits for nobody. Internal.
#ifndef LIBTRACE_RING_ASK_H_
#define LIBTRACE_RING_ASK_H_

#include "libtrace/ring/writer.h"

namespace acceltrace::ring {

// Whether this process is recorded. Asks at most once in kAskAgainNs or so, since a recording may
// begin with a process that is running.
bool Recorded(const Host& host);

// It was told once that it is not, so that what it did until now is not recorded.
bool WasUnrecorded();

inline constexpr int64_t kAskAgainNs = 10'000'000;

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_ASK_H_
