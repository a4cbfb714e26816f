// SPDX-License-Identifier: Apache-2.0
//
// Reads files of /proc and /sys.
#ifndef DAEMON_BASE_TEXT_FILES_H_
#define DAEMON_BASE_TEXT_FILES_H_

#include <string>

namespace acceltrace::daemon {

// Returns a whole file, at most 1 MiB of it, or an empty string if it cannot be read.
std::string ReadText(const std::string& path);
std::string FirstLine(const std::string& path);

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_TEXT_FILES_H_
