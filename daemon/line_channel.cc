// SPDX-License-Identifier: Apache-2.0
#include "daemon/line_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace acceltrace::daemon {
namespace {

constexpr int kSendTimeoutMs = 1000;

}  // namespace

void LineChannel::Receive() {
  while (!closed_ && input_.size() <= kMaxLineBytes) {
    char buffer[kMaxLineBytes];
    const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) {
      input_.append(buffer, static_cast<size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      closed_ = true;
    } else if (errno == EAGAIN) {
      return;
    }
  }
  if (input_.size() > kMaxLineBytes && input_.find('\n') == std::string::npos) closed_ = true;
}

std::optional<std::string> LineChannel::Next() {
  const size_t end = input_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

void LineChannel::Send(std::string_view line) {
  std::string text(line);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t sent = send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      rest.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd ready = {fd_.get(), POLLOUT, 0};
      if (poll(&ready, 1, kSendTimeoutMs) <= 0) {
        closed_ = true;
        return;
      }
    } else if (errno != EINTR) {
      closed_ = true;
      return;
    }
  }
}

}  // namespace acceltrace::daemon
