// SPDX-License-Identifier: Apache-2.0
//
// acceltraced --private: one recording for one client. The lines
// on the control socket are described in docs/daemon.md.
#ifndef DAEMON_PRIVATE_MODE_H_
#define DAEMON_PRIVATE_MODE_H_

#include "daemon/options.h"

namespace acceltrace::daemon {

// Returns the exit status.
int RunPrivate(const Options& options);

}  // namespace acceltrace::daemon

#endif  // DAEMON_PRIVATE_MODE_H_
