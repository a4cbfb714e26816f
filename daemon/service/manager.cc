// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "daemon/base/host_info.h"

namespace acceltrace::daemon {
namespace {

constexpr int kFirstInherited = 3;
constexpr int kMaxInherited = 16;
constexpr int64_t kNsPerUs = 1000, kNsPerMs = 1'000'000;

int64_t NumberOf(const char* variable) {
  const char* text = getenv(variable);
  int64_t number = 0;
  if (text == nullptr) return 0;
  const char* end = text + strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end && number > 0 ? number : 0;
}

}  // namespace

void NotifyManager(const std::string& state) {
  const char* path = getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = strlen(path);
  if (length >= sizeof(address.sun_path)) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  (void)!sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

std::vector<Inherited> InheritedSockets() {
  std::vector<Inherited> sockets;
  if (NumberOf("LISTEN_PID") != getpid()) return sockets;
  const auto count = static_cast<int>(std::min<int64_t>(NumberOf("LISTEN_FDS"), kMaxInherited));
  const char* variable = getenv("LISTEN_FDNAMES");
  std::string_view names = variable == nullptr ? "" : variable;
  for (int i = 0; i < count; ++i) {
    Inherited inherited;
    inherited.fd.Reset(kFirstInherited + i);
    fcntl(inherited.fd.get(), F_SETFD, FD_CLOEXEC);
    fcntl(inherited.fd.get(), F_SETFL, fcntl(inherited.fd.get(), F_GETFL) | O_NONBLOCK);
    inherited.name = names.substr(0, names.find(':'));
    names.remove_prefix(std::min(names.size(), inherited.name.size() + 1));
    sockaddr_un address = {};
    socklen_t bytes = sizeof(address);
    if (getsockname(inherited.fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
        address.sun_family == AF_UNIX && bytes > offsetof(sockaddr_un, sun_path)) {
      inherited.path.assign(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
    }
    sockets.push_back(std::move(inherited));
  }
  return sockets;
}

Watchdog::Watchdog() {
  const int64_t owner = NumberOf("WATCHDOG_PID");
  if (owner == 0 || owner == getpid()) period_ns_ = NumberOf("WATCHDOG_USEC") * kNsPerUs;
}

void Watchdog::Watch(bool busy) {
  if (period_ns_ == 0 || busy == busy_) return;
  busy_ = busy;
  // 0 means that none are expected.
  NotifyManager("WATCHDOG_USEC=" + std::to_string(busy ? period_ns_ / kNsPerUs : 0));
  next_ns_ = 0;
  if (busy) Tick(MonotonicNs());
}

int Watchdog::TimeoutMs(int64_t now_ns) const {
  if (!busy_) return -1;
  return static_cast<int>(std::max<int64_t>((next_ns_ - now_ns + kNsPerMs - 1) / kNsPerMs, 0));
}

void Watchdog::Tick(int64_t now_ns) {
  if (!busy_ || now_ns < next_ns_) return;
  next_ns_ = now_ns + period_ns_ / 3;
  NotifyManager("WATCHDOG=1");
}

}  // namespace acceltrace::daemon
