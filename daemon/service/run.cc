// SPDX-License-Identifier: Apache-2.0
//
// Starting the service: sockets, privileges, telling the service manager.
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "daemon/privileges.h"
#include "daemon/service/service.h"
#include "daemon/signals.h"

namespace acceltrace::daemon {
namespace {

constexpr char kLiveName[] = "live.sock";
constexpr char kOwnFolder[] = "/run/acceltrace/";

// The protocol of sd_notify(3): one datagram to the socket named by the manager.
void NotifyManager(const char* state) {
  const char* path = getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = strlen(path);
  if (length >= sizeof(address.sun_path)) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  (void)!sendto(fd.get(), state, strlen(state), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

// The service's own folder is made, and that is said; another one that is not there is rather a
// slip of the pen.
Status CheckFolder(const std::string& folder) {
  struct stat about = {};
  if (folder.empty() || (stat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode))) return {};
  if (folder != kOwnFolder) {
    return Status::Error("no folder " + folder + ": make it, or choose another --socket");
  }
  if (mkdir(folder.c_str(), 0755) != 0) {
    return Status::Error("cannot create " + folder + ": " + strerror(errno));
  }
  fprintf(stderr, "acceltraced: made %s\n", folder.c_str());
  return {};
}

Status Serve(const Options& options) {
  UniqueFd signals = TakeSignals();
  RaisePriority();
  std::optional<gid_t> group;
  errno = 0;
  if (const struct group* entry = getgrnam(options.group.c_str())) group = entry->gr_gid;
  const mode_t mode = group ? 0660 : 0600;
  const gid_t owner = group.value_or(static_cast<gid_t>(-1));

  const std::string folder = options.socket.substr(0, options.socket.rfind('/') + 1);
  if (Status status = CheckFolder(folder); !status.ok()) return status;
  auto control = Listener::Open(options.socket, mode, owner);
  if (!control.ok()) return control.status();
  auto live = Listener::Open(options.live_socket.empty() ? folder + kLiveName : options.live_socket,
                             mode, owner);
  if (!live.ok()) return live.status();
  if (Status status = DropAllButAttach(); !status.ok()) return status;
  if (!group) {
    fprintf(stderr, "acceltraced: no group '%s': only root may record\n", options.group.c_str());
  }
  NotifyManager("READY=1");
  Service(std::move(control).value(), std::move(live).value(), std::move(signals), group).Run();
  NotifyManager("STOPPING=1");
  return {};
}

}  // namespace

int RunService(const Options& options) {
  const Status status = Serve(options);
  if (status.ok()) return 0;
  fprintf(stderr, "acceltraced: %s\n", status.message().c_str());
  return 1;
}

}  // namespace acceltrace::daemon
