// SPDX-License-Identifier: Apache-2.0
//
// The service manager: what it hands over at the start, and what it is notified of (sd_notify(3),
// sd_listen_fds(3)). Spoken without a library: a privileged process carries no more than it needs.
#ifndef DAEMON_SERVICE_MANAGER_H_
#define DAEMON_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// One datagram to the socket that the manager named; nothing without one.
void NotifyManager(const std::string& state);

// A listening socket that was handed over.
struct Inherited {
  UniqueFd fd;
  std::string name;  // FileDescriptorName=
  std::string path;  // of a Unix socket, else empty
};
std::vector<Inherited> InheritedSockets();

// Signs of life. A service without recordings sends none and is not expected to: it sleeps.
class Watchdog {
 public:
  Watchdog();

  // Sets the interval in which the manager expects signs of life from now on, or none.
  void Watch(bool busy);
  // How long the caller may sleep; -1 = for ever.
  int TimeoutMs(int64_t now_ns) const;
  // To be called after each sleep.
  void Tick(int64_t now_ns);

 private:
  int64_t period_ns_ = 0;  // 0: the manager does not watch
  bool busy_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_MANAGER_H_
