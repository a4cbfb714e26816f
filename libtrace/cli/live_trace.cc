// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/live_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "libtrace/stream/file/descriptor.h"
#include "libtrace/view/common/page_columns.h"

namespace acceltrace::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(200);
constexpr auto kLeastRest = std::chrono::seconds(1);
// A file that has not grown for this long counts as finished, until it grows again.
constexpr auto kQuiet = std::chrono::seconds(10);
constexpr size_t kReadBytes = size_t{1} << 18;

int Unnamed() {
  const char* temporary = std::getenv("TMPDIR");
  return open(temporary == nullptr ? "/tmp" : temporary, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

}  // namespace

Result<std::unique_ptr<LiveTrace>> LiveTrace::Open(const std::string& path) {
  std::unique_ptr<LiveTrace> live(new LiveTrace);
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) {
    return Status::Error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  if (S_ISSOCK(about.st_mode)) {
    live->socket_ = stream::ConnectSocket(path);
    if (live->socket_ < 0) {
      const int error = -live->socket_;
      return Status::Error(fmt::format("cannot connect to {}: {}: start a recording first", path,
                                       std::strerror(error)));
    }
    live->spool_ = Unnamed();
    if (live->spool_ < 0) {
      return Status::Error(
          fmt::format("cannot make a temporary file: {}: set TMPDIR to a folder "
                      "with room",
                      std::strerror(errno)));
    }
    live->path_ = fmt::format("/proc/self/fd/{}", live->spool_);
    live->spooler_ = std::thread([&of = *live] { of.Spool(); });
  } else if (S_ISREG(about.st_mode)) {
    live->path_ = path;
  } else {
    return Status::Error(
        fmt::format("{} is neither a file nor a socket: give what a recording writes", path));
  }
  live->follower_ = std::thread([&of = *live] { of.Follow(); });
  return live;
}

LiveTrace::~LiveTrace() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
  if (spooler_.joinable()) spooler_.join();
  if (follower_.joinable()) follower_.join();
  if (socket_ >= 0) close(socket_);
  if (spool_ >= 0) close(spool_);
}

// Copies from the socket to the file, until the end or until the limit.
void LiveTrace::Spool() {
  std::vector<char> buffer(kReadBytes);
  std::string note;
  while (note.empty()) {
    const ssize_t got = read(socket_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) note = fmt::format("the stream broke: {}", std::strerror(errno));
    if (got <= 0) break;
    for (ssize_t done = 0; done < got && note.empty();) {
      const ssize_t wrote = write(spool_, buffer.data() + done, static_cast<size_t>(got - done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) note = fmt::format("no more is kept: {}", std::strerror(errno));
      done += std::max<ssize_t>(0, wrote);
    }
    spooled_ += static_cast<uint64_t>(got);
    if (spooled_ >= kMostSpooledBytes) note = "no more is kept: the limit of 4 GiB is reached";
  }
  const std::lock_guard lock(mutex_);
  note_ = note;
  ended_ = true;
  changed_.notify_all();
}

uint64_t LiveTrace::Bytes() const {
  if (socket_ >= 0) return spooled_;
  struct stat about {};
  return stat(path_.c_str(), &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
}

void LiveTrace::Follow() {
  uint64_t seen = 0;
  Clock::time_point earliest = Clock::now(), grew = earliest;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const uint64_t bytes = Bytes();
    const bool all_came = ended_;
    const auto now = Clock::now();
    if (bytes != seen && (now >= earliest || all_came)) {
      lock.unlock();
      Load();
      lock.lock();
      seen = bytes, grew = now, finished_ = false;
      earliest = Clock::now() + std::max<Clock::duration>(kLeastRest, 2 * (Clock::now() - now));
    } else if (bytes == seen) {
      finished_ = socket_ >= 0 ? all_came : now - grew > kQuiet;
    }
    if (finished_ && socket_ >= 0) break;
    changed_.wait_for(lock, kLook);
  }
}

void LiveTrace::Load() {
  auto version = std::make_shared<Version>();
  auto model = model::LoadFile(path_);
  if (!model.ok()) {
    const std::lock_guard lock(mutex_);
    error_ = model.message();
    return;
  }
  version->model = std::move(*model);
  // Predictions are left out, since they take most of the time.
  version->report = analysis::ComputeReport(*version->model, nullptr, analysis::Predictions::kNone);
  const std::shared_ptr<const Version> before = Now();
  version->number = before == nullptr ? 1 : before->number + 1;
  version->source = std::make_unique<view::PageSource>(version->report, version->number);
  const std::lock_guard lock(mutex_);
  error_.clear();
  version_ = std::move(version);
}

std::shared_ptr<const LiveTrace::Version> LiveTrace::Now() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::string LiveTrace::error() const {
  const std::lock_guard lock(mutex_);
  if (version_ != nullptr || !finished_) return "";
  return error_.empty() ? "the stream ended before anything came" : error_;
}

std::string LiveTrace::StateJson() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{{\"generation\":{},\"going\":{},\"bytes\":{},\"note\":{}}}",
                     version_ == nullptr ? 0 : version_->number, !finished_, Bytes(),
                     view::PageString(note_));
}

}  // namespace acceltrace::cli
