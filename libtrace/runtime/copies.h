// SPDX-License-Identifier: Apache-2.0
//
// Other copies of this library in the process: a file that dlmopen(3) loads once more. Internal.
#ifndef LIBTRACE_RUNTIME_COPIES_H_
#define LIBTRACE_RUNTIME_COPIES_H_

namespace acceltrace::runtime {

// The kernel raises the semaphores of one mapping of a file in a process, that which lies lowest,
// and those of the others stay at 0. Where there is another copy, those of all copies are set for
// good: each then fires its probes, which is a nop as long as nobody traces, and asks whether it is
// recorded. Takes no system call. When the library is loaded.
void MarkCopies();

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_COPIES_H_
