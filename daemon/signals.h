// SPDX-License-Identifier: Apache-2.0
//
// The signals that end the daemon in good order.
#ifndef DAEMON_SIGNALS_H_
#define DAEMON_SIGNALS_H_

#include <signal.h>
#include <sys/signalfd.h>

#include "daemon/unique_fd.h"

namespace acceltrace::daemon {

// SIGINT and SIGTERM arrive at the descriptor; a closed pipe or a full file is an
// error of the call that met it. Before any thread is started.
inline UniqueFd TakeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_SIGNALS_H_
