// SPDX-License-Identifier: Apache-2.0
//
// Prints a line to stderr, which may be a terminal. Unprintable characters are replaced, as names
// in the line are not trusted.
#ifndef DAEMON_BASE_SAY_H_
#define DAEMON_BASE_SAY_H_

#include <cstdio>
#include <string>

#include "libtrace/base/utf8.h"

namespace acceltrace::daemon {

inline void Say(const std::string& message) {
  fprintf(stderr, "acceltraced: %s\n", Printable(message).c_str());
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_SAY_H_
