// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

namespace acceltrace::cli {
namespace {

Status WriteAll(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EPIPE && fd == STDOUT_FILENO) {
      // Whoever read it has seen enough (| head): end as other tools do, without a word.
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    if (wrote < 0) {
      const char* advice = errno == ENOSPC ? ": free some space or write elsewhere" : "";
      return Status::Error(
          fmt::format("cannot write {}: {}{}", name, std::strerror(errno), advice));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (path == "-") {
    file.fd_ = STDOUT_FILENO;
    file.path_ = "to stdout";
    return file;
  }
  struct stat about {};
  const bool special = stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  if (!special) file.partial_ = fmt::format("{}.{}.part", path, getpid());
  const std::string& target = special ? path : file.partial_;
  // Beside the target nobody else's file is written to, nor through a link to one.
  const int alone = special ? O_TRUNC : O_EXCL | O_NOFOLLOW;
  if (!special) unlink(target.c_str());
  file.fd_ = open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | alone, 0644);
  if (file.fd_ < 0) {
    file.partial_.clear();
    return Status::Error(fmt::format("cannot create {}: {}: choose another place with -o", path,
                                     std::strerror(errno)));
  }
  file.owned_ = true;
  // What replaces a file is for the same people.
  if (!special && about.st_ino != 0) (void)fchmod(file.fd_, about.st_mode & 0777);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owned_(std::exchange(other.owned_, false)),
      path_(std::move(other.path_)),
      partial_(std::exchange(other.partial_, {})) {}

OutputFile::~OutputFile() {
  if (owned_) close(fd_);
  if (!partial_.empty()) unlink(partial_.c_str());
}

Status OutputFile::Write(std::string_view bytes) { return WriteAll(fd_, bytes, path_); }

Status OutputFile::Finish() {
  if (!owned_) return {};
  owned_ = false;
  if (close(fd_) != 0) {
    return Status::Error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  if (partial_.empty()) return {};
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    return Status::Error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  partial_.clear();
  return {};
}

Status WriteStdout(std::string_view text) { return WriteAll(STDOUT_FILENO, text, "to stdout"); }

}  // namespace acceltrace::cli
