// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/trace_files.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <utility>

namespace acceltrace::cli {
namespace {

// Returns true if both are the same stream (with one reader and one end), so that output to both
// would be mixed.
bool SameStream(int a, int b) {
  struct stat one {
  }, other{};
  if (fstat(a, &one) != 0 || fstat(b, &other) != 0) return false;
  const bool mixes = S_ISREG(one.st_mode) || S_ISFIFO(one.st_mode) || S_ISSOCK(one.st_mode);
  return mixes && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

std::string DefaultTraceName(const std::string& begin) {
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}.atrace", begin, fmt::localtime(std::time(nullptr)),
                     getpid());
}

Result<TraceFiles> TraceFiles::Open(const RecordOptions& options) {
  OutputOptions how;
  how.inputs = options.recording.libraries;
  how.inputs.insert(how.inputs.end(), options.command.begin(), options.command.end());
  std::erase(how.inputs, "-");
  how.mode = RecordingMode();
  how.alone = true;
  TraceFiles files;
  auto output = Output::Create(options.output, how);
  if (!output.ok()) return output.status();
  files.files_.push_back(std::move(output).value());
  const uint32_t more = control::MoreFiles(options.recording);
  if (!files.is_file()) {
    if (more != 0) return Status::Error("several files need a name: give one with -o");
    const int fd = files.files_.front().fd();
    if (SameStream(fd, STDERR_FILENO)) {
      return Status::Error(fmt::format(
          "cannot write {}: stderr leads there, too, and would be mixed with the trace: send it "
          "elsewhere, or name a file with -o",
          options.output));
    }
    files.takes_stdout_ =
        files.files_.front().is_descriptor(STDOUT_FILENO) || SameStream(fd, STDOUT_FILENO);
  }
  how.inputs.push_back(options.output);
  for (uint32_t i = 0; i < more; ++i) {
    auto part = Output::Reserve(control::MoreFileName(options.recording, options.output, i), how);
    if (!part.ok()) return part.status();
    files.files_.push_back(std::move(part).value());
  }
  return files;
}

std::vector<int> TraceFiles::fds() const {
  std::vector<int> fds;
  for (const Output& file : files_) fds.push_back(file.fd());
  return fds;
}

bool TraceFiles::regular() const { return RegularFile(files_.front().fd()) != FileId(); }

void TraceFiles::Close() {
  for (Output& file : files_) (void)file.Close();
}

Status TraceFiles::Place() {
  Output& output = files_.front();
  const Status placed = output.Place();
  if (placed.ok()) return placed;
  return Status::Error(fmt::format("{}; the trace stays in {}", placed.message(), output.Leave()));
}

void TraceFiles::Leave() {
  for (Output& file : files_) (void)file.Leave();
}

}  // namespace acceltrace::cli
