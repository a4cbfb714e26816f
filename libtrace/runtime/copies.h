// SPDX-License-Identifier: Apache-2.0
//
// Handles other copies of this library in the process, as loaded by dlmopen(3). Internal.
#ifndef LIBTRACE_RUNTIME_COPIES_H_
#define LIBTRACE_RUNTIME_COPIES_H_

namespace acceltrace::runtime {

// The kernel only raises the semaphores of one mapping of a file in a process, the lowest one, and
// those of other mappings stay 0. If there is another copy, this permanently sets the semaphores of
// all copies: each copy then fires its probes, which are nops without a tracer, and asks whether it
// is recorded. Makes no system call. Must be called when the library is loaded.
void MarkCopies();

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_COPIES_H_
