// SPDX-License-Identifier: Apache-2.0
//
// The signals that end the daemon in good order.
#ifndef DAEMON_SIGNALS_H_
#define DAEMON_SIGNALS_H_

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// SIGINT and SIGTERM arrive at the descriptor, and SIGHUP if it means `reload`; a closed pipe or a
// full file is an error of the call that met it, and a terminal in whose background this runs is
// written to even where `stty tostop` says to stop. Before any thread is started.
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

// The next one that arrived; 0 if it is none.
inline int TakeSignal(int fd) {
  signalfd_siginfo info = {};
  return read(fd, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_SIGNALS_H_
