// SPDX-License-Identifier: Apache-2.0
//
// A bound on memory for what has to hold a whole trace: its tables lie in a file that is mapped,
// and what was not touched for a while is left to the kernel, which writes it to the disk when
// others need the memory.
#ifndef LIBTRACE_CLI_SPILL_H_
#define LIBTRACE_CLI_SPILL_H_

#include <cstdint>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

// What is allocated from now on, until the process ends, takes no more resident memory than about
// `resident_bytes`, at any time; no more than `most_bytes` may be allocated. The file has no name,
// and lies in TMPDIR, or in /var/tmp: /tmp is memory on many machines. A full disk is memory that
// cannot be had (std::bad_alloc). An error leaves everything as it was. Once in a process.
Status SpillBeyond(uint64_t resident_bytes, uint64_t most_bytes);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_SPILL_H_
