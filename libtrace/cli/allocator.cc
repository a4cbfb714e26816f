// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/allocator.h"

#include <jemalloc/jemalloc.h>
#include <sys/prctl.h>
#include <sys/types.h>

// Read by jemalloc when it starts (jemalloc(3), TUNING).
const char* malloc_conf = "thp:always,narenas:1";

namespace acceltrace::cli {

// What is freed goes back to the kernel soon, until what a trace needs is much more than that.
constexpr uint64_t kSmallTraceBytes = 4 << 20, kLargeTraceBytes = 64 << 20;

void ExpectTrace(uint64_t bytes) {
  if (bytes == 0 || bytes >= kLargeTraceBytes) return;
  if (bytes < kSmallTraceBytes) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  ssize_t decay_ms = 100;  // instead of ten seconds
  mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &decay_ms, sizeof decay_ms);
}

}  // namespace acceltrace::cli
