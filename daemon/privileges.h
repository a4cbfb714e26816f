// SPDX-License-Identifier: Apache-2.0
//
// Giving up what is not needed any more.
//
// While it records, a thread holds CAP_BPF, CAP_PERFMON (maps, trace rings),
// CAP_SYS_PTRACE (names in a process' memory, its rings), CAP_CHECKPOINT_RESTORE and
// CAP_DAC_READ_SEARCH (the files that it has mapped, its descriptors) at most. Attaching a uprobe
// takes CAP_SYS_ADMIN on the kernels of today: it is kept, but not in effect other than while a
// recording's thread attaches, at its start and when a process turns up with another copy of the
// library. Capabilities belong to threads; each function is about the calling one, and a new thread
// starts with those of its parent.
#ifndef DAEMON_PRIVILEGES_H_
#define DAEMON_PRIVILEGES_H_

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// A recorder that gets no CPU loses events: ahead of ordinary programs, where that
// is permitted. It runs seldom and briefly.
void RaisePriority();

// Nothing in effect but what recording takes; RaiseForAttach works later, in this thread
// and in new ones. Fine if there is less to begin with.
Status DropAllButAttach();
// Of the calling thread, which needs none.
void DropAll();
Status RaiseForAttach();

// Raised as long as this lives, if `dropped` says that it was not in effect.
class AttachRights {
 public:
  explicit AttachRights(bool dropped) : dropped_(dropped) {
    if (dropped_) (void)RaiseForAttach();
  }
  AttachRights(const AttachRights&) = delete;
  AttachRights& operator=(const AttachRights&) = delete;
  ~AttachRights() {
    if (dropped_) (void)DropAllButAttach();
  }

 private:
  bool dropped_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_PRIVILEGES_H_
