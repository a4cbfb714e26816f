// SPDX-License-Identifier: Apache-2.0
//
// How memory is had: from jemalloc, in huge pages. A trace's columns are large and come and go;
// from the C library's allocator each went back to the kernel and came again, page by page, which
// took more time than what was written into them.
#ifndef LIBTRACE_CLI_ALLOCATOR_H_
#define LIBTRACE_CLI_ALLOCATOR_H_

#include <cstdint>

namespace acceltrace::cli {

// Before a trace is read. Of a small one huge pages, and what is kept for the next column,
// would be much of what it takes: this process (and what it starts from now on) has none, and
// keeps little. bytes: of the file, 0 = not known.
void ExpectTrace(uint64_t bytes);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_ALLOCATOR_H_
