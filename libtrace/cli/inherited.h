// SPDX-License-Identifier: Apache-2.0
//
// Keeps what this program inherited for the programs that it starts: they get the same signal
// actions and descriptors as without it.
#ifndef LIBTRACE_CLI_INHERITED_H_
#define LIBTRACE_CLI_INHERITED_H_

namespace acceltrace::cli {

// Must be called first. Remembers how signals were handled and then sets what the program needs:
// broken pipes and file size limits are errors of calls, children are waited for, and descriptors 0
// to 2 are open.
void TakeInheritance();

// Returns true if the program that started this one had the signal ignored, as nohup does.
bool WasIgnored(int signal);

// Must be called in a child before it executes another program. Restores the signals; descriptors
// that TakeInheritance() opened close themselves.
void RestoreInheritance();

// Ends this program by the signal that ended another one, so that its parent sees the same result.
// Leaves no core file, since that belongs to the other program.
[[noreturn]] void DieOf(int signal);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_INHERITED_H_
