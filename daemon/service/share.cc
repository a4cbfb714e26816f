// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/share.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "daemon/base/privileges.h"
#include "daemon/service/service.h"

namespace acceltrace::daemon {
namespace {

constexpr mode_t kOthersMayWrite = 022;

UniqueFd NewEvent() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void Signal(const UniqueFd& event) {
  const uint64_t one = 1;
  (void)!write(event.get(), &one, sizeof(one));
}

// If others could create a socket there, they could pose as the daemon.
Status CheckFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status::Error("cannot create " + folder + ": " + strerror(errno));
  }
  struct stat about = {};
  if (stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
      (about.st_mode & kOthersMayWrite) != 0) {
    return Status::Error(folder + " is no folder that only this user can write to");
  }
  return {};
}

// Clients that join later may need limits that the first one did not, when these cannot be raised
// any more.
void RaiseLimits() {
  constexpr rlimit kNice = {40, 40}, kRealTime = {1, 1};  // a nice value of -20, see getrlimit(2)
  (void)setrlimit(RLIMIT_NICE, &kNice);
  (void)setrlimit(RLIMIT_RTPRIO, &kRealTime);
}

}  // namespace

Result<std::unique_ptr<Share>> Share::Open(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return Status::Error("'" + path + "' is not a path of a socket in a folder");
  }
  if (geteuid() != 0) return Status::Error("only recordings of root can share a daemon");
  if (Status status = CheckFolder(path.substr(0, slash)); !status.ok()) return status;
  const std::string name = path + ".lock";
  UniqueFd lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return Status::Error("cannot open " + name + ": " + strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::unique_ptr<Share>();
    return Status::Error("cannot lock " + name + ": " + strerror(errno));
  }
  auto listener = Listener::Open(path, 0600, static_cast<gid_t>(-1));
  if (!listener.ok()) return listener.status();
  RaiseLimits();
  return std::unique_ptr<Share>(new Share(std::move(lock), std::move(listener).value()));
}

Share::Share(UniqueFd lock, Listener listener)
    : lock_(std::move(lock)),
      go_(NewEvent()),
      leave_(NewEvent()),
      stop_(NewEvent()),
      ended_(NewEvent()),
      thread_(&Share::Run, this, std::move(listener)) {}

Share::~Share() {
  Signal(stop_);
  thread_.join();
}

void Share::Serve() { Signal(go_); }

bool Share::Leave() {
  Signal(leave_);
  std::unique_lock<std::mutex> lock(mutex_);
  while (state_ == State::kServing) changed_.wait(lock);
  return state_ == State::kOthersGoOn;
}

void Share::Become(State state) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
  }
  changed_.notify_all();
}

void Share::Run(Listener listener) {
  pollfd fds[] = {{go_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(fds, std::size(fds), -1) < 0) {
  }
  if (fds[1].revents == 0 && DropAllButNeeded().ok()) {
    ServiceConfig config;
    config.pause_when_full = false;  // like a private recording
    Service service({.control = std::move(listener),
                     .live = Listener::Inherit(UniqueFd()),
                     .signals = UniqueFd(fcntl(stop_.get(), F_DUPFD_CLOEXEC, 0)),
                     .config = std::move(config),
                     .shared = true,
                     .leave_fd = leave_.get(),
                     .on_leave = [this](bool served) {
                       if (served) Become(State::kOthersGoOn);
                     }});
    service.Run();
  }
  Become(State::kEnded);
  Signal(ended_);
}

}  // namespace acceltrace::daemon
