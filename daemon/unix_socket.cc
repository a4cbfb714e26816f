// SPDX-License-Identifier: Apache-2.0
#include "daemon/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace acceltrace::daemon {
namespace {

constexpr int kBacklog = 16;

UniqueFd NewSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Result<Listener> Listener::Open(const std::string& path, mode_t mode, gid_t group) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Status::Error("socket path '" + path + "' is empty or too long");
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return Status::Error(path + " is there and is not a socket");
    const UniqueFd probe = NewSocket();
    if (connect(probe.get(), generic, sizeof(address)) == 0 || errno != ECONNREFUSED) {
      return Status::Error(path +
                           " is in use by another acceltraced; stop it, or choose another "
                           "path with --socket");
    }
    unlink(path.c_str());
  }
  UniqueFd fd = NewSocket();
  // At no time may others be able to connect before the mode is set.
  const mode_t old_mask = umask(0777);
  const bool bound = bind(fd.get(), generic, sizeof(address)) == 0;
  const int error = errno;
  umask(old_mask);
  if (!bound) return Status::Error("cannot make socket " + path + ": " + strerror(error));
  Listener listener(std::move(fd), path);
  if ((group != static_cast<gid_t>(-1) &&
       chown(path.c_str(), static_cast<uid_t>(-1), group) != 0) ||
      chmod(path.c_str(), mode) != 0 || listen(listener.fd(), kBacklog) != 0) {
    return Status::Error("cannot open socket " + path + ": " + strerror(errno));
  }
  return listener;
}

Listener::~Listener() {
  if (fd_.valid() && !path_.empty()) unlink(path_.c_str());
}

UniqueFd Listener::Accept() {
  return UniqueFd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool Peer::InGroup(gid_t group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Result<Peer> PeerOf(int fd) {
  ucred credentials = {};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return Status::Error(std::string("cannot find out who is connected: ") + strerror(errno));
  }
  Peer peer;
  peer.uid = credentials.uid;
  peer.pid = credentials.pid;
  peer.groups.resize(64);
  for (;;) {
    bytes = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &bytes) == 0) break;
    if (errno != ERANGE) {
      bytes = 0;
      break;
    }
    peer.groups.resize(bytes / sizeof(gid_t));
  }
  peer.groups.resize(bytes / sizeof(gid_t));
  peer.groups.push_back(credentials.gid);
  return peer;
}

}  // namespace acceltrace::daemon
