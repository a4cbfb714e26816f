// SPDX-License-Identifier: Apache-2.0
//
// Drops privileges that are not needed any more, and raises the others only while they are needed.
//
// These stay permitted: CAP_BPF and CAP_PERFMON (maps, trace rings), CAP_SYS_PTRACE (names in a
// process' memory), CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH (its mapped files and rings),
// and CAP_SYS_ADMIN, which current kernels require to attach a uprobe. None of them is effective
// while a thread waits. The service's own thread has none; a recording's thread has the first five
// while it works, and CAP_SYS_ADMIN while it attaches: at its start, and when a process with
// another copy of the library appears. Capabilities belong to threads: each function applies to the
// calling thread, and a new thread inherits those of its parent.
#ifndef DAEMON_BASE_PRIVILEGES_H_
#define DAEMON_BASE_PRIVILEGES_H_

#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// Raises the limit of descriptors as far as permitted, since each BPF program, map and link takes
// one. Returns false if the limit is too low to start a recording.
bool RaiseFileLimit();

// Raises the priority above ordinary programs, if permitted, since a recorder without CPU time
// loses events. It runs rarely and briefly.
void RaisePriority();

// Drops all capabilities for good except those named above, which remain permitted, but not
// effective until WithRights raises them, in this thread and in new ones. Having fewer to begin
// with is not an error.
Status DropAllButNeeded();
// Drops all capabilities of the calling thread.
void DropAll();
// Keeps only the capability to set the scheduling of other threads, if it is permitted.
void DropAllButScheduling();

enum class Rights { kNone, kRecording, kAttaching };

// Makes these rights effective for its lifetime, then restores the previous ones. Does nothing in a
// thread that has not dropped any, where all are effective.
class WithRights {
 public:
  explicit WithRights(Rights rights);
  WithRights(const WithRights&) = delete;
  WithRights& operator=(const WithRights&) = delete;
  ~WithRights();

 private:
  Rights before_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_PRIVILEGES_H_
