// SPDX-License-Identifier: Apache-2.0
//
// What to advise when the kernel returns EPERM or EACCES.
#ifndef DAEMON_BASE_PERMISSION_H_
#define DAEMON_BASE_PERMISSION_H_

#include <unistd.h>

#include <string>

namespace acceltrace::daemon {

// `capabilities` are those that suffice for users other than root. Root is refused in a container
// without them, by a locked-down kernel, and by security modules and system call filters.
inline std::string HowToBeAllowed(const std::string& capabilities) {
  if (geteuid() != 0) return "run as root, or with " + capabilities;
  return "this is root, but not allowed to: a container needs " + capabilities +
         "; else see /sys/kernel/security/lockdown, and what filters system calls";
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_PERMISSION_H_
