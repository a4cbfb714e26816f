// SPDX-License-Identifier: Apache-2.0
//
// Reads what the kernel counts for a thread from /proc.
#ifndef DAEMON_SOURCES_SYSTEM_THREAD_COUNTS_H_
#define DAEMON_SOURCES_SYSTEM_THREAD_COUNTS_H_

#include <cstdint>
#include <optional>

#include "daemon/bpf/sched_records.h"

namespace acceltrace::daemon {

// Returns totals, without migrations, or nullopt if the thread is gone.
std::optional<act_thread_counts> ReadThreadCounts(uint32_t pid, uint32_t tid);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_THREAD_COUNTS_H_
