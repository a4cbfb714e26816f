// SPDX-License-Identifier: Apache-2.0
//
// The service's configuration file: acceltraced.conf(5).
//
// It has `name = value` lines in three kinds of sections. Those before the first section are about
// the service, [users] has the limits of each ordinary user, and [user NAME] what is different for
// one of them. Reading it finds all mistakes at once, each with its line and a correction.
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

#include "libtrace/base/result.h"

namespace acceltrace::daemon {

inline constexpr char kConfigPath[] = "/etc/acceltrace/acceltraced.conf";

// The limits of one ordinary user; 0 means no limit only where the comment says so.
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
  std::string live_socket;  // if empty, live.sock in the folder of the control socket
  std::string group = "acceltrace";
  std::string metrics;  // a path, or a loopback address with a port; off if empty
  uint32_t max_connections = 64;
  uint32_t max_recordings = 8;
  uint64_t max_ring_bytes = uint64_t{1} << 30;  // of all flight recorders together
  bool pause_when_full = true;                  // otherwise, a recording ends when the disk is full
  bool sync = true;                             // each flush also syncs the disk
  UserLimits users;
  std::map<uid_t, UserLimits> named_users;

  const UserLimits& LimitsOf(uid_t uid) const {
    const auto found = named_users.find(uid);
    return found == named_users.end() ? users : found->second;
  }
};

// How names of users and groups are looked up; replaced by tests.
struct Names {
  std::function<std::optional<uid_t>(const std::string&)> user;
  std::function<bool(const std::string&)> group;
};
Names SystemNames();

// `name` is that of the file, for mistakes. Each mistake is one line: FILE:LINE: problem;
// correction.
ServiceConfig ParseConfig(std::string_view text, const std::string& name, const Names& names,
                          std::vector<std::string>* mistakes);

// Parses a file. A missing file is a mistake if `required`, otherwise the defaults are returned.
ServiceConfig LoadConfig(const std::string& path, bool required,
                         std::vector<std::string>* mistakes);

// Implements --check-config. Prints mistakes to stderr; returns the exit status 1 if there are any,
// otherwise 0.
int CheckConfig(const std::string& path);

// Parses 127.0.0.1:PORT or [::1]:PORT.
struct LoopbackAddress {
  bool v6 = false;
  uint16_t port = 0;
};
Result<LoopbackAddress> ParseLoopback(const std::string& text);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CONFIG_H_
