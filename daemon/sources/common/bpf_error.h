// SPDX-License-Identifier: Apache-2.0
//
// Explains to users why BPF programs cannot be loaded.
#ifndef DAEMON_SOURCES_COMMON_BPF_ERROR_H_
#define DAEMON_SOURCES_COMMON_BPF_ERROR_H_

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/base/permission.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// `error` is negative, as returned by libbpf; `warning` is libbpf's last one, which has more
// detail.
inline Status BpfLoadError(int error, const std::string& warning = {}) {
  // The verifier returns EACCES, too, for a program that it rejects, which is unrelated to
  // permissions.
  if (error == -EPERM || (error == -EACCES && geteuid() != 0)) {
    return Status::Error("no permission to load BPF programs; " +
                         HowToBeAllowed("CAP_BPF and CAP_PERFMON"));
  }
  if (error == -EMFILE || error == -ENFILE) {
    return Status::Error(
        "too many open files, of which BPF programs take some hundred: raise ulimit -n");
  }
  if (error == -ENOSYS) {
    return Status::Error(
        "this kernel has no BPF (CONFIG_BPF_SYSCALL), or a filter of system calls hides it");
  }
  return Status::Error(std::string("cannot load the BPF programs: ") + strerror(-error) +
                       (warning.empty() ? "" : " (" + warning + ")") +
                       "; a kernel with BTF, 6.1 or later, is needed");
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_BPF_ERROR_H_
