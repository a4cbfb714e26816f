// SPDX-License-Identifier: Apache-2.0
//
// A client of the capture service (docs/daemon.md, "The service"). What it answers is
// checked: another program may sit behind the socket.
#ifndef LIBTRACE_CLI_SERVICE_CLIENT_H_
#define LIBTRACE_CLI_SERVICE_CLIENT_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/cli/capture_session.h"

namespace acceltrace::cli {

inline constexpr char kServiceSocket[] = "/run/acceltrace/acceltraced.sock";

class ServiceClient final : public CaptureSession {
 public:
  // Null if no service is there. Errors: there is one that this user may not talk to.
  static Result<std::unique_ptr<ServiceClient>> Connect(const std::string& socket);
  // The same of a private daemon, of this user or root, which may end at any time before the
  // recording has begun.
  static Result<std::unique_ptr<ServiceClient>> Join(const std::string& socket);
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;
  ~ServiceClient() override;

  // One command and its answer. files: sent along. Errors are the service's own words.
  Result<nlohmann::json> Ask(nlohmann::json command, const std::vector<int>& files = {});

  // Asks for a recording into these open files.
  Status Begin(nlohmann::json start, const std::vector<int>& files);
  uint64_t session() const { return session_; }
  // One that goes on already.
  void Use(uint64_t session) { session_ = session; }

  int fd() const override { return fd_; }
  Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) override;
  bool refused() const override { return false; }
  bool again() const override { return joined_ && gone_ && !begun_; }
  Status Track(pid_t pid) override;
  Status Snapshot(const std::string& path) override;
  bool Hear() override;
  const std::string& early_failure() const override { return early_failure_; }
  Result<std::string> Stop(int command_status) override;
  std::string WaitForExit() override { return "the service closed the connection"; }

 private:
  ServiceClient() = default;
  Result<uint64_t> Send(nlohmann::json command, const std::vector<int>& files);
  // The answer to `id`, or why there is none; nothing if also_fd can be read first. What came
  // unasked is taken in.
  std::optional<Result<nlohmann::json>> Receive(uint64_t id, int timeout_ms, int also_fd);
  // The next line; nothing when the service is gone or silent, or also_fd can be read.
  std::optional<std::string> ReadLine(int timeout_ms, int also_fd);
  void Note(const nlohmann::json& event);

  int fd_ = -1;
  uint64_t last_id_ = 0, start_id_ = 0, session_ = 0;
  std::string buffer_, early_failure_;
  bool begun_ = false;
  bool gone_ = false;
  bool joined_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_SERVICE_CLIENT_H_
