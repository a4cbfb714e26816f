// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/allocator.h"

#include <sys/prctl.h>

// Read by jemalloc when it starts (jemalloc(3), TUNING). What was let go is kept for a moment, for
// the next column.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,dirty_decay_ms:100";
}

namespace acceltrace::cli {

constexpr uint64_t kSmallTraceBytes = 4 << 20;

void ExpectTrace(uint64_t bytes) {
  if (bytes != 0 && bytes < kSmallTraceBytes) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

}  // namespace acceltrace::cli
