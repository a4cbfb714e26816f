// SPDX-License-Identifier: Apache-2.0
//
// Opening what a trace is written to.
#ifndef DAEMON_OUTPUTS_H_
#define DAEMON_OUTPUTS_H_

#include <string>

#include "daemon/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// Creates the file, or opens one that is there without emptying it: that happens
// once the recording has begun. *created: it was not there before.
Result<UniqueFd> CreateOutput(const std::string& path, bool* created);

bool OpenForWriting(int fd);

}  // namespace acceltrace::daemon

#endif  // DAEMON_OUTPUTS_H_
