// SPDX-License-Identifier: Apache-2.0
//
// Files of /proc and /sys.
#ifndef DAEMON_BASE_TEXT_FILES_H_
#define DAEMON_BASE_TEXT_FILES_H_

#include <string>

namespace acceltrace::daemon {

// A whole file, at most 1 MiB of it; empty if it cannot be read.
std::string ReadText(const std::string& path);
std::string FirstLine(const std::string& path);

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_TEXT_FILES_H_
