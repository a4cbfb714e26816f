// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "libtrace/cli/inherited.h"

namespace acceltrace::cli {
namespace {

Status WriteAll(int fd, std::string_view bytes, const std::string& name, bool to_stdout) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EPIPE && to_stdout) {
      // The reader has ended (| head): end silently, as other tools do.
      if (!WasIgnored(SIGPIPE)) DieOf(SIGPIPE);
    }
    if (wrote < 0) {
      const bool no_room = errno == ENOSPC || errno == EDQUOT;
      const char* advice = no_room          ? ": free some space or write elsewhere"
                           : errno == EFBIG ? ": the file size limit is reached (ulimit -f)"
                                            : "";
      return Status::Error(
          fmt::format("cannot write {}: {}{}", name, std::strerror(errno), advice));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
}

}  // namespace

void EndTidily() {
  const auto handle = [](int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
  };
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU}) {
    handle(
        signal,
        [](int number) {
          Output::RemoveAll();
          raise(number);
        },
        SA_RESETHAND);
  }
  // Ignoring the signal would be inherited by commands.
  handle(
      SIGXFSZ, [](int) {}, SA_RESTART);
}

Result<OutputFile> OutputFile::Create(const std::string& path,
                                      const std::vector<std::string>& inputs) {
  auto output = Output::Create(path, {.inputs = inputs});
  if (!output.ok()) return output.status();
  return OutputFile(std::move(output).value());
}

Status OutputFile::Write(std::string_view bytes) {
  return WriteAll(output_.fd(), bytes, output_.name(), is_stdout());
}

Status OutputFile::Finish() {
  const Status closed = output_.Close();
  return closed.ok() ? output_.Place() : closed;
}

Status WriteStdout(std::string_view text) {
  return WriteAll(STDOUT_FILENO, text, "to stdout", true);
}

}  // namespace acceltrace::cli
