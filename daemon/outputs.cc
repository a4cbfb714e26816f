// SPDX-License-Identifier: Apache-2.0
#include "daemon/outputs.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace acceltrace::daemon {

Result<UniqueFd> CreateOutput(const std::string& path, bool* created) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  *created = fd.valid();
  if (!fd.valid()) fd.Reset(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid())
    return Status::Error("cannot create " + path + ": " + strerror(errno) +
                         ": choose another place with --output");
  return fd;
}

bool OpenForWriting(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace acceltrace::daemon
