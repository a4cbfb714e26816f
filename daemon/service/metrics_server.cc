// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/service/config.h"
#include "daemon/service/metrics.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxRequestBytes = 4096;
constexpr int64_t kRequestNs = 2'000'000'000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int kBacklog = 4;
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

int MetricsServer::TimeoutMs(int64_t now_ns) const {
  if (!client_.valid()) return -1;
  return static_cast<int>(std::max<int64_t>((deadline_ns_ - now_ns + kNsPerMs - 1) / kNsPerMs, 0));
}

short MetricsServer::events() const { return output_.empty() ? POLLIN : POLLOUT; }

void MetricsServer::Close() {
  client_.Reset();
  input_.clear();
  output_.clear();
}

void MetricsServer::Accept(int64_t now_ns) {
  if (client_.valid()) return;
  client_.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  deadline_ns_ = now_ns + kRequestNs;
}

void MetricsServer::Answer(std::string_view status, std::string_view type,
                           const std::string& body) {
  output_ = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
            "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
            body;
}

// Only the first line of a request matters.
void MetricsServer::Respond() {
  const std::string_view line = std::string_view(input_).substr(0, input_.find_first_of("\r\n"));
  const size_t method_end = line.find(' ');
  const size_t target_end = line.rfind(' ');
  const bool http = target_end != std::string_view::npos && target_end > method_end &&
                    line.substr(target_end + 1, 7) == "HTTP/1.";
  if (!http) return Answer("400 Bad Request", kText, "not HTTP/1; ask for GET /metrics\n");
  if (line.substr(0, method_end) != "GET") {
    return Answer("405 Method Not Allowed", kText, "GET /metrics is all there is\n");
  }
  std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  target = target.substr(0, target.find('?'));
  if (target != "/metrics") {
    return Answer("404 Not Found", kText, "there is /metrics only\n");
  }
  Answer("200 OK", kMetricsText, render_());
}

void MetricsServer::Serve(int64_t now_ns) {
  if (!client_.valid()) return;
  if (output_.empty()) {
    char buffer[kMaxRequestBytes];
    const ssize_t got = recv(client_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return Close();
    if (got > 0) input_.append(buffer, static_cast<size_t>(got));
    const bool whole =
        input_.find("\r\n\r\n") != std::string::npos || input_.find("\n\n") != std::string::npos;
    if (input_.size() > kMaxRequestBytes) {
      Answer("431 Request Header Fields Too Large", kText, "a request has at most 4 KiB\n");
    } else if (whole) {
      Respond();
    } else if (now_ns >= deadline_ns_) {
      Answer("408 Request Timeout", kText, "a request has two seconds\n");
    }
  }
  while (!output_.empty()) {
    const ssize_t sent =
        send(client_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      output_.erase(0, static_cast<size_t>(sent));
      if (output_.empty()) return Close();
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return Close();
    }
  }
  if (now_ns >= deadline_ns_) Close();
}

Result<UniqueFd> ListenForMetrics(const std::string& where) {
  const auto parsed = ParseLoopback(where);
  if (!parsed.ok()) return parsed.status();
  UniqueFd fd(
      socket(parsed->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(parsed->port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(parsed->port);
  v6.sin6_addr = in6addr_loopback;
  const auto* address =
      parsed->v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  if (bind(fd.get(), address, parsed->v6 ? sizeof(v6) : sizeof(v4)) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Status::Error("cannot listen for metrics at " + where + ": " + strerror(errno) +
                         "; choose another address");
  }
  return fd;
}

}  // namespace acceltrace::daemon
