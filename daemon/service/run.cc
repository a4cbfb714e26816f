// SPDX-License-Identifier: Apache-2.0
//
// Starts the service: sockets, privileges and notifications of the service manager.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "daemon/base/privileges.h"
#include "daemon/service/config.h"
#include "daemon/service/manager.h"
#include "daemon/service/service.h"
#include "daemon/signals.h"

namespace acceltrace::daemon {
namespace {

constexpr char kLiveName[] = "live.sock";
constexpr char kMetricsName[] = "metrics";  // FileDescriptorName= of its socket unit
constexpr char kOwnFolder[] = "/run/acceltrace/";

// Creates the service's own folder, and says so; any other missing folder is probably a typing
// error.
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

// The command line has precedence over the file.
std::optional<ServiceConfig> ReadConfig(const Options& options) {
  std::vector<std::string> mistakes;
  const bool named = !options.config.empty();
  ServiceConfig config = LoadConfig(named ? options.config : kConfigPath, named, &mistakes);
  for (const std::string& mistake : mistakes) {
    fprintf(stderr, "acceltraced: %s\n", mistake.c_str());
  }
  if (!mistakes.empty()) return std::nullopt;
  const auto prefer = [](const std::string& given, std::string* value) {
    if (!given.empty()) *value = given;
  };
  prefer(options.socket, &config.socket);
  prefer(options.live_socket, &config.live_socket);
  prefer(options.group, &config.group);
  prefer(options.metrics, &config.metrics);
  if (config.metrics == "off") config.metrics.clear();
  if (config.live_socket.empty()) {
    config.live_socket = config.socket.substr(0, config.socket.rfind('/') + 1) + kLiveName;
  }
  return config;
}

// Uses the sockets of the service manager, if it made any, otherwise opens our own.
Result<Listener> OpenListener(const std::string& path, mode_t mode, gid_t owner,
                              std::vector<Inherited>* inherited) {
  for (Inherited& socket : *inherited) {
    if (socket.path == path) return Listener::Inherit(std::move(socket.fd));
  }
  return Listener::Open(path, mode, owner);
}

Result<UniqueFd> OpenMetrics(const ServiceConfig& config, mode_t mode, gid_t owner,
                             std::vector<Inherited>* inherited) {
  for (Inherited& socket : *inherited) {
    if (socket.name == kMetricsName) return std::move(socket.fd);
  }
  if (config.metrics.empty()) return UniqueFd();
  if (config.metrics[0] != '/') return ListenForMetrics(config.metrics);
  auto listener = Listener::Open(config.metrics, mode, owner);
  if (!listener.ok()) return listener.status();
  return std::move(listener).value().Release();
}

Status Serve(const Options& options) {
  UniqueFd signals = TakeSignals(true);
  RaisePriority();
  auto config = ReadConfig(options);
  if (!config) return Status::Error("the configuration has mistakes; nothing was started");
  std::optional<gid_t> group;
  errno = 0;
  if (const struct group* entry = getgrnam(config->group.c_str())) group = entry->gr_gid;
  const mode_t mode = group ? 0660 : 0600;
  const gid_t owner = group.value_or(static_cast<gid_t>(-1));

  std::vector<Inherited> inherited = InheritedSockets();
  const std::string folder = config->socket.substr(0, config->socket.rfind('/') + 1);
  if (Status status = CheckFolder(folder); !status.ok()) return status;
  auto control = OpenListener(config->socket, mode, owner, &inherited);
  if (!control.ok()) return control.status();
  auto live = OpenListener(config->live_socket, mode, owner, &inherited);
  if (!live.ok()) return live.status();
  auto metrics = OpenMetrics(*config, mode, owner, &inherited);
  if (!metrics.ok()) return metrics.status();
  if (Status status = DropAllButNeeded(); !status.ok()) return status;
  if (!group) {
    fprintf(stderr, "acceltraced: no group '%s': only root may record\n", config->group.c_str());
  }
  Service service({.control = std::move(control).value(),
                   .live = std::move(live).value(),
                   .metrics = std::move(metrics).value(),
                   .signals = std::move(signals),
                   .group = group,
                   .config = *config,
                   .reload = [&options] {
                     // The file may be readable for root only.
                     const WithRights rights(Rights::kRecording);
                     return ReadConfig(options);
                   }});
  // Keep-alive notifications are only sent while there are recordings.
  NotifyManager("READY=1\nWATCHDOG_USEC=0");
  service.Run();
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
