// SPDX-License-Identifier: Apache-2.0
//
// Giving up what is not needed any more, and having the rest for as long as it is needed.
//
// What stays permitted are CAP_BPF, CAP_PERFMON (maps, trace rings), CAP_SYS_PTRACE (names in a
// process' memory), CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH (the files that it has mapped,
// its rings), and CAP_SYS_ADMIN, which attaching a uprobe takes on the kernels of today. None of
// them is in effect while a thread waits: the service's own thread has none, a recording's has the
// first five while it works, and CAP_SYS_ADMIN while it attaches, at its start and when a process
// turns up with another copy of the library. Capabilities belong to threads; each function is about
// the calling one, and a new thread starts with those of its parent.
#ifndef DAEMON_BASE_PRIVILEGES_H_
#define DAEMON_BASE_PRIVILEGES_H_

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// BPF programs, maps and links are a descriptor each: as many as may be had. False: so few are
// allowed that a recording cannot begin.
bool RaiseFileLimit();

// A recorder that gets no CPU loses events: ahead of ordinary programs, where that
// is permitted. It runs seldom and briefly.
void RaisePriority();

// For good: nothing in effect, and nothing permitted but what is named above, which WithRights
// raises, in this thread and in new ones. Fine if there is less to begin with.
Status DropAllButNeeded();
// Of the calling thread, which needs none.
void DropAll();
// ... or none but to set how others are scheduled, if that is permitted.
void DropAllButScheduling();

enum class Rights { kNone, kRecording, kAttaching };

// These are in effect as long as this lives, and then those of before. Does nothing in a thread
// that has not dropped any: there all of them are.
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
