// SPDX-License-Identifier: Apache-2.0
//
// The service manager: the sockets that it passes at the start, and its notifications
// (sd_notify(3), sd_listen_fds(3)). Implemented without a library, as a privileged process should
// have as little code as possible.
#ifndef DAEMON_SERVICE_MANAGER_H_
#define DAEMON_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// Sends one datagram to the socket that the manager named, if any.
void NotifyManager(const std::string& state);

// A listening socket passed by the manager.
struct Inherited {
  UniqueFd fd;
  std::string name;  // FileDescriptorName=
  std::string path;  // of a Unix socket, otherwise empty
};
std::vector<Inherited> InheritedSockets();

// Keep-alive notifications. A service without recordings sleeps and is not expected to send any.
class Watchdog {
 public:
  Watchdog();

  // Sets the interval in which the manager expects notifications from now on, or none.
  void Watch(bool busy);
  // How long the caller may sleep; -1 = without limit.
  int TimeoutMs(int64_t now_ns) const;
  // Must be called after each sleep.
  void Tick(int64_t now_ns);

 private:
  int64_t period_ns_ = 0;  // 0 if the manager does not watch
  bool busy_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_MANAGER_H_
