// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/service_client.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "libtrace/base/output.h"
#include "libtrace/control/json.h"
#include "libtrace/stream/file/descriptor.h"

namespace acceltrace::cli {
namespace {

using nlohmann::json;

constexpr int kStartMs = 60'000;   // to read the kernel's symbols and begin
constexpr int kAnswerMs = 60'000;  // for everything else
constexpr int kStopMs = 600'000;   // to write its data to the disk
constexpr size_t kMaxLineBytes = 64 << 10;

using Clock = std::chrono::steady_clock;

int LeftMs(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(static_cast<int>(left.count()), 0);
}

}  // namespace

Result<std::unique_ptr<ServiceClient>> ServiceClient::Connect(const std::string& socket_path) {
  const int fd = stream::ConnectSocket(socket_path);
  // No process listens there.
  if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR) {
    return std::unique_ptr<ServiceClient>();
  }
  if (fd < 0) {
    return Status::Error(fmt::format("cannot use the capture service at {}: {}{}", socket_path,
                                     strerror(-fd),
                                     fd == -EACCES ? "; it is open to members of its group" : ""));
  }
  std::unique_ptr<ServiceClient> client(new ServiceClient);
  client->fd_ = fd;
  return client;
}

Result<std::unique_ptr<ServiceClient>> ServiceClient::Join(const std::string& socket_path) {
  auto client = Connect(socket_path);
  if (!client.ok() || client.value() == nullptr) return client;
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(client.value()->fd_, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
      (peer.uid != 0 && peer.uid != geteuid())) {
    return Status::Error(fmt::format("{} is a socket of another user", socket_path));
  }
  client.value()->joined_ = true;
  return client;
}

ServiceClient::~ServiceClient() {
  if (fd_ >= 0) close(fd_);
}

Result<uint64_t> ServiceClient::Send(std::string_view cmd, google::protobuf::Message* request,
                                     const std::vector<int>& files) {
  const auto* members = request->GetDescriptor();
  const auto* reflection = request->GetReflection();
  reflection->SetString(request, members->FindFieldByName("cmd"), std::string(cmd));
  reflection->SetUInt64(request, members->FindFieldByName("id"), ++last_id_);
  // Protobuf's mapping writes numbers of 64 bits as strings. Services return the id as it came, and
  // those of earlier versions only take a number.
  json members_and_id = json::parse(control::ToJson(*request), nullptr, false);
  members_and_id["id"] = last_id_;
  const std::string line = members_and_id.dump() + "\n";
  if (line.size() > kMaxLineBytes) {
    return Status::Error(
        "the options are too long for the capture service: fewer or shorter ones, or --private");
  }
  size_t sent = 0;
  while (sent < line.size()) {
    iovec part = {const_cast<char*>(line.data()) + sent, line.size() - sent};
    std::vector<cmsghdr> control((CMSG_SPACE(files.size() * sizeof(int)) + sizeof(cmsghdr) - 1) /
                                 sizeof(cmsghdr));
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty() && sent == 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), files.data(), files.size() * sizeof(int));
    }
    const ssize_t bytes = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      gone_ = true;
      return Status::Error("the capture service is gone");
    }
    sent += static_cast<size_t>(bytes);
  }
  return last_id_;
}

std::optional<std::string> ServiceClient::ReadLine(int timeout_ms, int also_fd) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!gone_) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMaxLineBytes) break;
    pollfd ready[] = {{fd_, POLLIN, 0}, {also_fd, POLLIN, 0}};
    const int polled = poll(ready, 2, LeftMs(deadline));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0 || ready[0].revents == 0) return std::nullopt;
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    buffer_.append(bytes, static_cast<size_t>(got));
  }
  gone_ = true;
  return std::nullopt;
}

void ServiceClient::Note(const json& event) {
  if (!early_failure_.empty() || event.value("event", json()) != "failed") return;
  const json error = event.value("error", json());
  early_failure_ = error.is_string() ? error.get<std::string>() : "the output failed";
}

std::optional<Result<json>> ServiceClient::Receive(uint64_t id, int timeout_ms, int also_fd) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto line = ReadLine(LeftMs(deadline), also_fd);
    if (!line) {
      if (gone_) return Status::Error("the capture service is gone");
      pollfd also{also_fd, POLLIN, 0};
      if (also_fd >= 0 && poll(&also, 1, 0) > 0) return std::nullopt;
      if (LeftMs(deadline) > 0) continue;
      return Status::Error("the capture service does not answer");
    }
    const json answer = json::parse(*line, nullptr, false);
    if (!answer.is_object()) return Status::Error("the capture service speaks another protocol");
    // A refused connection gets its error before any command.
    const json of = answer.value("id", json());
    const bool failed = answer.value("ok", json()) == false;
    if (of != id && !(failed && of == 0)) {
      Note(answer);
      continue;
    }
    if (!failed) return answer;
    const json error = answer.value("error", json());
    return Status::Error(error.is_string() ? error.get<std::string>() : "refused");
  }
}

Result<json> ServiceClient::Ask(std::string_view cmd, google::protobuf::Message&& request,
                                const std::vector<int>& files) {
  const auto id = Send(cmd, &request, files);
  if (!id.ok()) return id.status();
  return *Receive(id.value(), cmd == "stop" ? kStopMs : kAnswerMs, -1);
}

Status ServiceClient::Begin(proto::RecordRequest start, const std::vector<int>& files) {
  const auto id = Send("start", &start, files);
  if (!id.ok()) return id.status();
  start_id_ = id.value();
  return {};
}

Status ServiceClient::WaitUntilReady(int also_fd, const std::function<bool()>& heard) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(kStartMs);
  std::optional<Result<json>> answer;
  while (!(answer = Receive(start_id_, LeftMs(deadline), also_fd))) {
    if (heard()) return Status::Error("interrupted before the recording began");
  }
  if (!answer->ok()) return answer->status();
  const json session = answer->value().value("session", json());
  if (!session.is_number_unsigned()) {
    return Status::Error("the capture service speaks another protocol");
  }
  session_ = session.get<uint32_t>();
  begun_ = true;
  return {};
}

Status ServiceClient::Track(pid_t pid) {
  proto::PidRequest request;
  request.set_session(session_);
  request.set_pid(static_cast<uint32_t>(pid));
  return Ask("pid", std::move(request)).status();
}

Status ServiceClient::Snapshot(const std::string& path) {
  auto file = Output::Create(path, {.mode = RecordingMode(), .alone = true});
  if (!file.ok()) return file.status();
  proto::SnapshotRequest request;
  request.set_session(session_);
  const auto answer = Ask("snapshot", std::move(request), {file->fd()});
  return answer.ok() ? file->Place() : answer.status();
}

bool ServiceClient::Hear() {
  const auto line = ReadLine(0, -1);
  if (line) {
    const json event = json::parse(*line, nullptr, false);
    if (event.is_object()) Note(event);
  }
  return !gone_;
}

Result<std::string> ServiceClient::Stop(int command_status) {
  proto::StopRequest request;
  request.set_session(session_);
  request.set_status(command_status);
  const auto answer = Ask("stop", std::move(request));
  // The service has forgotten a recording that ended before it was stopped.
  if (!answer.ok() && !early_failure_.empty()) return json{{"error", early_failure_}}.dump();
  if (!answer.ok()) return answer.status();
  const json summary = answer.value().value("summary", json::object());
  return summary.dump();
}

}  // namespace acceltrace::cli
