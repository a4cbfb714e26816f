// SPDX-License-Identifier: Apache-2.0
//
// Memory comes from jemalloc, in huge pages. The columns of a trace are large and are frequently
// allocated and freed. The C library's allocator returned each of them to the kernel and got it
// back page by page, which took more time than writing into them.
#ifndef LIBTRACE_CLI_ALLOCATOR_H_
#define LIBTRACE_CLI_ALLOCATOR_H_

#include <cstdint>

namespace acceltrace::cli {

// Must be called before a trace is read, with the size of the file (0 = not known). For small
// traces, huge pages and memory that is kept for later columns would be a large part of the total,
// so this process (and those that it starts later) do without huge pages and keep little memory.
void ExpectTrace(uint64_t bytes);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_ALLOCATOR_H_
