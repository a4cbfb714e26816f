// SPDX-License-Identifier: Apache-2.0
//
// Giving up what is not needed any more. Room: daemon.
#ifndef DAEMON_PRIVILEGES_H_
#define DAEMON_PRIVILEGES_H_

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// Keeps of the capabilities held: CAP_BPF, CAP_PERFMON (loading programs, trace
// rings) and CAP_SYS_PTRACE (names in a process' memory); for good, and for
// anything that might ever be executed. Fine if there are none to begin with.
Status DropPrivileges();

}  // namespace acceltrace::daemon

#endif  // DAEMON_PRIVILEGES_H_
