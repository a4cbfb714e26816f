// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/allocator.h"

#include <jemalloc/jemalloc.h>
#include <sys/prctl.h>
#include <sys/types.h>

// jemalloc reads this at start-up (jemalloc(3), TUNING). slab_sizes is in pages. Otherwise, chunks
// of columns would be allocated four at a time, each time with the cost of an extent.
const char* malloc_conf =
    "thp:always,narenas:1,slab_sizes:1024-1024:64|2048-2048:64|4096-4096:64|8192-8192:64";

namespace acceltrace::cli {

constexpr uint64_t kSmallTraceBytes = 4 << 20;  // no huge pages for smaller traces
// Memory that a smaller trace frees is returned to the kernel immediately, otherwise after ten
// seconds, since it must be cleared if it is used again.
constexpr uint64_t kAtOnceBytes = 16 << 20;

void ExpectTrace(uint64_t bytes) {
  if (bytes == 0 || bytes >= kAtOnceBytes) return;
  if (bytes < kSmallTraceBytes) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  ssize_t decay_ms = 0;
  mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &decay_ms, sizeof decay_ms);
}

}  // namespace acceltrace::cli
