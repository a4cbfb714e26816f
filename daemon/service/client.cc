// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/client.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "daemon/service/control.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxOutputBytes = 256 << 10;
constexpr size_t kMaxSentFiles = 1 + kMaxFiles;  // taken off one message

}  // namespace

void Client::Receive() {
  // One read for each turn of the loop: a client that floods is served no more
  // often than the others.
  if (closed_) return;
  char buffer[16384];
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxSentFiles * sizeof(int))];
  iovec part = {buffer, sizeof(buffer)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    closed_ = closed_ || (errno != EAGAIN && errno != EINTR);
    return;
  }
  for (cmsghdr* part_header = CMSG_FIRSTHDR(&message); part_header != nullptr;
       part_header = CMSG_NXTHDR(&message, part_header)) {
    if (part_header->cmsg_level != SOL_SOCKET || part_header->cmsg_type != SCM_RIGHTS) continue;
    files_.clear();
    const size_t files = (part_header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < files; ++i) {
      int file;
      memcpy(&file, CMSG_DATA(part_header) + i * sizeof(int), sizeof(file));
      files_.emplace_back(file);
    }
  }
  if (got == 0) {
    closed_ = true;
    return;
  }
  input_.append(buffer, static_cast<size_t>(got));
  if (input_.size() > kMaxCommandBytes && input_.find('\n') == std::string::npos) {
    Send(ErrorAnswer(0, "a command is longer than 64 KiB"));
    closed_ = true;
  }
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
