// SPDX-License-Identifier: Apache-2.0
//
// Giving up what is not needed any more. Room: daemon.
//
// While it records, a thread holds CAP_BPF, CAP_PERFMON (maps, trace rings) and
// CAP_SYS_PTRACE (names in a process' memory) at most. Attaching a uprobe takes
// CAP_SYS_ADMIN on the kernels of today: the service keeps it, but not in effect
// other than in a recording's thread while that attaches.
// Capabilities belong to threads; each function is about the calling one, and a
// new thread starts with those of its parent.
#ifndef DAEMON_PRIVILEGES_H_
#define DAEMON_PRIVILEGES_H_

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// A recorder that gets no CPU loses events: ahead of ordinary programs, where that
// is permitted. It runs seldom and briefly.
void RaisePriority();

// Nothing but what recording takes, for good. Fine if there is less to begin with.
Status DropPrivileges();

// The same, but RaiseForAttach works later, in this thread and in new ones.
Status DropAllButAttach();
Status RaiseForAttach();

}  // namespace acceltrace::daemon

#endif  // DAEMON_PRIVILEGES_H_
