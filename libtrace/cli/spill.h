// SPDX-License-Identifier: Apache-2.0
//
// Limits memory when a whole trace must be loaded: its tables are in a mapped file, and pages that
// were not used for a while are left to the kernel, which writes them to the disk when memory is
// needed.
#ifndef LIBTRACE_CLI_SPILL_H_
#define LIBTRACE_CLI_SPILL_H_

#include <cstdint>

#include "libtrace/base/result.h"

namespace acceltrace::cli {

// Limits the resident memory of later allocations to about `resident_bytes` at any time, and their
// total to `most_bytes`, until the process ends. The file has no name and is in TMPDIR or in
// /var/tmp, since /tmp is in memory on many machines. If the disk is full, allocations fail
// (std::bad_alloc). After an error, nothing has changed. Must be called at most once per process.
Status SpillBeyond(uint64_t resident_bytes, uint64_t most_bytes);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_SPILL_H_
