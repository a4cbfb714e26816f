// SPDX-License-Identifier: Apache-2.0
//
// Listening Unix sockets, and the credentials of their peers.
#ifndef DAEMON_UNIX_SOCKET_H_
#define DAEMON_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// Removes its path when it is destroyed.
class Listener {
 public:
  // `mode` is that of the socket file, `group` its group; -1 keeps the default. An old socket on
  // which no process listens any more is replaced. Fails if it is in use, or without permission.
  static Result<Listener> Open(const std::string& path, mode_t mode, gid_t group);

  // Takes a socket made by the service manager, whose path is not removed.
  static Listener Inherit(UniqueFd fd) { return {std::move(fd), ""}; }

  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  // Releases the socket; its path is kept until the next process listens there.
  UniqueFd Release() && { return std::move(fd_); }
  const std::string& path() const { return path_; }
  // Returns the next connection without blocking; it is invalid if there is none.
  UniqueFd Accept();

 private:
  Listener(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

struct Peer {
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
  std::vector<gid_t> groups;  // primary and supplementary

  bool root() const { return uid == 0; }
  bool InGroup(gid_t group) const;
};

// Returns the peer's credentials, as reported by the kernel.
Result<Peer> PeerOf(int fd);

}  // namespace acceltrace::daemon

#endif  // DAEMON_UNIX_SOCKET_H_
