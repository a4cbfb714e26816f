// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/client.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "daemon/service/control.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxOutputBytes = 256 << 10;
constexpr int64_t kMostIntakeNs = 5'000'000'000;

}  // namespace

void Client::Receive(FileIntake::Kinds kinds, const std::shared_ptr<UniqueFd>& done) {
  if (closed_ || receiving()) return;
  char buffer[16384];
  iovec part = {buffer, sizeof(buffer)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // Without space for files they remain in the socket, and the flags tell that there are some.
  ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_PEEK);
  if (got >= 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
    intake_ = FileIntake::Start(fd_.get(), kinds, done);
    closed_ = intake_ == nullptr;
    return;
  }
  if (got > 0) got = recv(fd_.get(), buffer, static_cast<size_t>(got), MSG_DONTWAIT);
  if (got < 0) {
    closed_ = closed_ || (errno != EAGAIN && errno != EINTR);
    return;
  }
  if (got == 0) {
    closed_ = true;
    return;
  }
  Add({buffer, static_cast<size_t>(got)});
}

void Client::Add(std::string_view bytes) {
  input_.append(bytes);
  if (input_.size() > kMaxCommandBytes && !has_line()) {
    Send(ErrorAnswer(0, "a command is longer than 64 KiB"));
    closed_ = true;
  }
}

std::shared_ptr<FileIntake> Client::Tend(int64_t now_ns) {
  if (!receiving()) return nullptr;
  auto message = intake_->Take();
  if (!message) {
    if (now_ns - intake_->since_ns() < kMostIntakeNs) return nullptr;
    Send(ErrorAnswer(0, "the files that came along keep the daemon waiting; send others"));
    closed_ = true;
    return std::exchange(intake_, nullptr);
  }
  intake_.reset();
  if (!message->files.empty() || !message->refusal.empty()) {
    files_ = std::move(message->files);
    refusal_ = std::move(message->refusal);
  }
  closed_ = closed_ || message->closed;
  Add(message->bytes);
  return nullptr;
}

Result<std::vector<UniqueFd>> Client::TakeFiles() {
  std::vector<UniqueFd> files = std::exchange(files_, {});
  if (std::string why = std::exchange(refusal_, ""); !why.empty()) return Status::Error(why);
  return files;
}

std::optional<std::string> Client::NextLine() {
  const size_t end = input_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

void Client::Send(std::string_view line) {
  if (closed_) return;
  output_.append(line);
  output_ += '\n';
  Flush();
  if (output_.size() > kMaxOutputBytes) closed_ = true;
}

void Client::Flush() {
  while (!output_.empty()) {
    const ssize_t sent =
        send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      output_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      closed_ = true;
      return;
    }
  }
}

}  // namespace acceltrace::daemon
