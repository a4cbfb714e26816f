// SPDX-License-Identifier: Apache-2.0
//
// A client of the capture service (docs/daemon.md, "The service"). The answers are checked, since
// the socket may belong to another program.
#ifndef LIBTRACE_CLI_SERVICE_CLIENT_H_
#define LIBTRACE_CLI_SERVICE_CLIENT_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/cli/capture_session.h"
#include "libtrace/proto/control.pb.h"

namespace acceltrace::cli {

inline constexpr char kServiceSocket[] = "/run/acceltrace/acceltraced.sock";

class ServiceClient final : public CaptureSession {
 public:
  // Returns null if there is no service, and an error if this user may not use it.
  static Result<std::unique_ptr<ServiceClient>> Connect(const std::string& socket);
  // Does the same for a private daemon, of this user or root, which may end at any time before the
  // recording has begun.
  static Result<std::unique_ptr<ServiceClient>> Join(const std::string& socket);
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;
  ~ServiceClient() override;

  // Sends a request with files and returns its answer. Errors have the service's own text.
  Result<nlohmann::json> Ask(std::string_view cmd, google::protobuf::Message&& request,
                             const std::vector<int>& files = {});

  // Requests a recording into these open files.
  Status Begin(proto::RecordRequest start, const std::vector<int>& files);
  uint32_t session() const { return session_; }
  // Uses a running recording.
  void Use(uint32_t session) { session_ = session; }

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
  // Sends a request with files and returns the number of its answer.
  Result<uint64_t> Send(std::string_view cmd, google::protobuf::Message* request,
                        const std::vector<int>& files);
  // Returns the answer to `id`, or an error if there is none, or nullopt if also_fd is readable
  // first. Handles unsolicited messages.
  std::optional<Result<nlohmann::json>> Receive(uint64_t id, int timeout_ms, int also_fd);
  // Returns the next line, or nullopt if the service is gone or silent, or also_fd is readable.
  std::optional<std::string> ReadLine(int timeout_ms, int also_fd);
  void Note(const nlohmann::json& event);

  int fd_ = -1;
  uint64_t last_id_ = 0, start_id_ = 0;
  uint32_t session_ = 0;
  std::string buffer_, early_failure_;
  bool begun_ = false;
  bool gone_ = false;
  bool joined_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_SERVICE_CLIENT_H_
