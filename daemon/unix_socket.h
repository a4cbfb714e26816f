// SPDX-License-Identifier: Apache-2.0
//
// Listening Unix sockets and who is at the other end.
#ifndef DAEMON_UNIX_SOCKET_H_
#define DAEMON_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// Removes its path when it goes.
class Listener {
 public:
  // mode: of the socket file. group: its owner, -1 = as it comes. An old socket
  // that nobody listens on any more is replaced. Errors: in use; no permission.
  static Result<Listener> Open(const std::string& path, mode_t mode, gid_t group);

  // One that the service manager has made: its path stays when this goes.
  static Listener Inherit(UniqueFd fd) { return {std::move(fd), ""}; }

  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  // Gives the socket away; its path stays until somebody listens there again.
  UniqueFd Release() && { return std::move(fd_); }
  const std::string& path() const { return path_; }
  // The next connection, not blocking; invalid if there is none.
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

// Who connected, as the kernel knows it.
Result<Peer> PeerOf(int fd);

}  // namespace acceltrace::daemon

#endif  // DAEMON_UNIX_SOCKET_H_
