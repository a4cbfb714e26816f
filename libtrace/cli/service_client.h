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

#include "libtrace/cli/capture_session.h"

namespace acceltrace::cli {

inline constexpr char kServiceSocket[] = "/run/acceltrace/acceltraced.sock";

class ServiceClient final : public CaptureSession {
 public:
  // Null if no service is there. Errors: there is one that this user may not talk to.
  static Result<std::unique_ptr<ServiceClient>> Connect(const std::string& socket);
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;
  ~ServiceClient() override;

  // One command and its answer. file: sent along, or -1. Errors are the service's own words.
  Result<nlohmann::json> Ask(nlohmann::json command, int file = -1);

  // Asks for a recording. What was made of `output` is taken back if there is none.
  // output_fd: where the trace goes; this call takes it over.
  Status Begin(nlohmann::json start, int output_fd, std::string created);
  uint64_t session() const { return session_; }
  // One that goes on already.
  void Use(uint64_t session) { session_ = session; }

  int fd() const override { return fd_; }
  Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) override;
  bool refused() const override { return false; }
  Status Track(pid_t pid) override;
  Status Snapshot(const std::string& path) override;
  bool Hear() override;
  const std::string& early_failure() const override { return early_failure_; }
  Result<std::string> Stop(int command_status) override;
  std::string WaitForExit() override { return "the service closed the connection"; }

 private:
  ServiceClient() = default;
  Result<uint64_t> Send(nlohmann::json command, int file);
  // The answer to `id`, or why there is none; nothing if also_fd can be read first. What came
  // unasked is taken in.
  std::optional<Result<nlohmann::json>> Receive(uint64_t id, int timeout_ms, int also_fd);
  // The next line; nothing when the service is gone or silent, or also_fd can be read.
  std::optional<std::string> ReadLine(int timeout_ms, int also_fd);
  void Note(const nlohmann::json& event);

  int fd_ = -1;
  uint64_t last_id_ = 0, start_id_ = 0, session_ = 0;
  std::string buffer_, early_failure_;
  std::string created_;  // a file that is empty until the recording has begun
  bool gone_ = false;
};

// Opens a file for a trace. *created: whether it is new.
Result<int> CreateTraceFile(const std::string& path, bool* created);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_SERVICE_CLIENT_H_
