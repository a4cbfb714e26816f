// SPDX-License-Identifier: Apache-2.0
//
// What this program was started with, for the programs that it starts: they are to find their
// signals and descriptors as they would without it in between.
#ifndef LIBTRACE_CLI_INHERITED_H_
#define LIBTRACE_CLI_INHERITED_H_

namespace acceltrace::cli {

// The first thing that the program does. It notes how signals were treated and makes of that what
// the program needs itself: a peer that goes away and a file that may grow no more are errors of a
// call, children are waited for, and descriptors 0 to 2 are open.
void TakeInheritance();

// Whether whoever started this program had the signal ignored, as nohup does.
bool WasIgnored(int signal);

// In a child, before it executes another program: signals are as they were. What TakeInheritance()
// opened closes itself.
void RestoreInheritance();

// Ends this program as the signal ended another one, so that whoever waits sees the same. It leaves
// no core file: that is the other program's.
[[noreturn]] void DieOf(int signal);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_INHERITED_H_
