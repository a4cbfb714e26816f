// SPDX-License-Identifier: Apache-2.0
//
// A line on stderr, which may be somebody's terminal: names in it are others'.
#ifndef DAEMON_BASE_SAY_H_
#define DAEMON_BASE_SAY_H_

#include <cstdio>
#include <string>

#include "libtrace/stream/utf8.h"

namespace acceltrace::daemon {

inline void Say(const std::string& message) {
  fprintf(stderr, "acceltraced: %s\n", stream::Printable(message).c_str());
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_SAY_H_
