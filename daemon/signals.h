// SPDX-License-Identifier: Apache-2.0
//
// The signals that end the daemon in an orderly way.
#ifndef DAEMON_SIGNALS_H_
#define DAEMON_SIGNALS_H_

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// SIGINT and SIGTERM, and with `reload` also SIGHUP, are delivered to the returned descriptor. A
// closed pipe or a full file is reported by the system call that encounters it. The daemon can
// write to a terminal in whose background it runs, even with `stty tostop`. Must be called before
// any thread is started.
inline UniqueFd TakeSignals(bool reload = false) {
  sigset_t signals;
  sigemptyset(&signals);
  if (reload) sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Returns the next signal that arrived, or 0 if there is no such signal.
inline int TakeSignal(int fd) {
  signalfd_siginfo info = {};
  return read(fd, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_SIGNALS_H_
