// SPDX-License-Identifier: Apache-2.0
//
// The metrics socket: a client sends any data in any pieces, and closes the connection at any time.
// It must receive a complete answer or none, and must never occupy the server beyond its deadline.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "daemon/service/metrics.h"

namespace {

using namespace acceltrace::daemon;

constexpr int64_t kStepNs = 300'000'000;

void Require(bool held) {
  if (!held) abort();
}

// Listens at an address chosen by the kernel, without a file.
UniqueFd Listen(sockaddr_un* address, socklen_t* bytes) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un any = {};
  any.sun_family = AF_UNIX;
  Require(bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any.sun_family)) == 0);
  Require(listen(fd.get(), 4) == 0);
  *bytes = sizeof(*address);
  Require(getsockname(fd.get(), reinterpret_cast<sockaddr*>(address), bytes) == 0);
  return fd;
}

// Receives what has arrived. Returns false if the server has closed the connection.
bool Receive(int fd, std::string* answer) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) answer->append(buffer, static_cast<size_t>(got));
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN;
  }
}

void CheckAnswer(const std::string& answer) {
  if (answer.empty()) return;
  Require(answer.rfind("HTTP/1.1 ", 0) == 0);
  const size_t head = answer.find("\r\n\r\n");
  Require(head != std::string::npos);
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t length = answer.find(kLength);
  Require(length < head);
  const size_t body = std::strtoull(answer.c_str() + length + kLength.size(), nullptr, 10);
  Require(answer.size() == head + 4 + body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sockaddr_un address = {};
  static socklen_t address_bytes = 0;
  static const std::string figures(100'000, '#');  // more than a socket buffer holds
  static MetricsServer server(Listen(&address, &address_bytes), [] { return figures; });

  UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Require(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), address_bytes) == 0);
  int64_t now_ns = 1'000'000'000;
  server.Accept(now_ns);
  const int64_t deadline_ns = now_ns + server.TimeoutMs(now_ns) * int64_t{1'000'000};
  std::string answer;
  bool open = true;
  // Each piece begins with its length; with length 0, the client closes the connection, or only
  // stops sending.
  for (size_t at = 0; at < size && server.client_fd() >= 0 && open;) {
    const size_t piece = std::min<size_t>(data[at] * size_t{8}, size - at - 1);
    if (data[at] == 0) {
      if (at % 2 == 0) shutdown(client.get(), SHUT_WR);
      if (at % 2 == 1) client.Reset();
      if (!client.valid()) break;
    }
    (void)send(client.get(), data + at + 1, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    at += piece + 1;
    server.Serve(now_ns);
    if (piece % 3 != 0) open = Receive(client.get(), &answer);  // some clients read late
    now_ns += piece % 5 == 0 ? kStepNs : 0;
  }
  for (int i = 0; i < 100 && server.client_fd() >= 0; ++i) {
    if (client.valid() && open) open = Receive(client.get(), &answer);
    server.Serve(now_ns);
    now_ns = std::min(now_ns + kStepNs, deadline_ns);
  }
  Require(server.client_fd() < 0);  // whatever it sent, the deadline is over
  if (client.valid()) {
    if (open) (void)Receive(client.get(), &answer);
    CheckAnswer(answer);
  }
  return 0;
}
