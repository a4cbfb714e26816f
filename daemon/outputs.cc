// SPDX-License-Identifier: Apache-2.0
#include "daemon/outputs.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

namespace acceltrace::daemon {

Result<std::vector<Output>> OpenOutputs(const std::string& path, const RecordOptions& options) {
  OutputOptions how;
  how.inputs = options.libraries;
  how.mode = RecordingMode();
  how.alone = true;
  std::vector<Output> outputs;
  auto output = Output::Create(path, how);
  if (!output.ok()) return output.status();
  outputs.push_back(std::move(output).value());
  how.inputs.push_back(path);
  for (uint32_t i = 0; i < MoreFiles(options); ++i) {
    auto part = Output::Reserve(MoreFileName(options, path, i), how);
    if (!part.ok()) return part.status();
    outputs.push_back(std::move(part).value());
  }
  return outputs;
}

std::vector<UniqueFd> Descriptors(const std::vector<Output>& outputs) {
  std::vector<UniqueFd> descriptors;
  for (const Output& output : outputs) {
    descriptors.emplace_back(fcntl(output.fd(), F_DUPFD_CLOEXEC, 0));
  }
  return descriptors;
}

Status CheckDescriptor(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return Status::Error("the output is not open for writing");
  }
  // If the descriptor shares an open file with a recording, it already has the lock.
  if (RegularFile(fd) != FileId() && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Status::Error("another recording writes to this file: choose another one");
  }
  return {};
}

}  // namespace acceltrace::daemon
