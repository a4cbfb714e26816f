// SPDX-License-Identifier: Apache-2.0
//
// The service's configuration file: acceltraced.conf(5).
//
// `name = value` lines in three kinds of section: before the first one what concerns the service,
// [users] what each ordinary user may have, [user NAME] what is different for one of them.
// Reading it finds all mistakes at once, each with its line and what to write instead.
#ifndef DAEMON_SERVICE_CONFIG_H_
#define DAEMON_SERVICE_CONFIG_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

inline constexpr char kConfigPath[] = "/etc/acceltrace/acceltraced.conf";

// What one ordinary user may have at a time; 0 where that says so = no limit.
struct UserLimits {
  bool allowed = true;
  uint32_t connections = 16;
  uint32_t recordings = 2;
  uint32_t starts_per_minute = 60;
  uint32_t requests_per_second = 1000;
  uint64_t ring_bytes = uint64_t{1} << 30;  // of all flight recorders together
  uint64_t bytes_per_hour = 0;              // written to files; 0 = no limit
};

struct ServiceConfig {
  std::string socket = "/run/acceltrace/acceltraced.sock";
  std::string live_socket;  // empty: live.sock beside the control socket
  std::string group = "acceltrace";
  std::string metrics;  // empty: off; a path, or a loopback address with a port
  uint32_t max_connections = 64;
  uint32_t max_recordings = 8;
  uint64_t max_ring_bytes = uint64_t{1} << 30;  // of all flight recorders together
  bool pause_when_full = true;                  // else a recording ends when the disk is full
  bool sync = true;                             // each flush goes to the disk itself
  UserLimits users;
  std::map<uid_t, UserLimits> named_users;

  const UserLimits& LimitsOf(uid_t uid) const {
    const auto found = named_users.find(uid);
    return found == named_users.end() ? users : found->second;
  }
};

// How names of users and groups are looked up; tests have their own.
struct Names {
  std::function<std::optional<uid_t>(const std::string&)> user;
  std::function<bool(const std::string&)> group;
};
Names SystemNames();

// name: of the file, in mistakes. Each mistake is one line, FILE:LINE: what; what to do.
ServiceConfig ParseConfig(std::string_view text, const std::string& name, const Names& names,
                          std::vector<std::string>* mistakes);

// The same of a file. One that is not there is a mistake if `required`, else all as usual.
ServiceConfig LoadConfig(const std::string& path, bool required,
                         std::vector<std::string>* mistakes);

// For --check-config. Returns the exit status: 0 fine, 1 with mistakes, which go to stderr.
int CheckConfig(const std::string& path);

// 127.0.0.1:PORT or [::1]:PORT. Errors say what is wrong.
struct LoopbackAddress {
  bool v6 = false;
  uint16_t port = 0;
};
Result<LoopbackAddress> ParseLoopback(const std::string& text);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CONFIG_H_
