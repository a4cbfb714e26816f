// SPDX-License-Identifier: Apache-2.0
//
// One connection to the service: receives lines, which may have files attached, and sends lines.
// Never waits for the peer, nor for the files that it passes.
#ifndef DAEMON_SERVICE_CLIENT_H_
#define DAEMON_SERVICE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/service/file_intake.h"
#include "daemon/unix_socket.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

class Client {
 public:
  Client(uint64_t number, UniqueFd fd, Peer peer)
      : number_(number), fd_(std::move(fd)), peer_(std::move(peer)) {}

  uint64_t number() const { return number_; }
  const Peer& peer() const { return peer_; }
  int fd() const { return fd_.get(); }
  // Returns true if the peer is gone or broke the rules: a line was too long, or answers were not
  // read.
  bool closed() const { return closed_; }
  // Returns true if there is output for the loop to send when the socket is writable.
  bool wants_to_send() const { return !output_.empty(); }

  // Reads once per turn of the loop, so that a flooding client is served no more often than others.
  // Attached files are received by a thread of their own, which makes `done` readable at its end.
  void Receive(FileIntake::Kinds kinds, const std::shared_ptr<UniqueFd>& done);
  // While this is true, nothing else is received.
  bool receiving() const { return intake_ != nullptr; }
  // Must be called when `done` was readable, and now and then: files that take too long end the
  // connection. Returns the intake that is still running then, if any.
  std::shared_ptr<FileIntake> Tend(int64_t now_ns);

  bool has_line() const { return input_.find('\n') != std::string::npos; }
  std::optional<std::string> NextLine();
  // Returns the files attached to the newest message with files, in their order, or why they were
  // refused.
  Result<std::vector<UniqueFd>> TakeFiles();

  void Send(std::string_view line);
  void Flush();

  // Releases the connection. All output must have been sent before.
  UniqueFd Release() {
    closed_ = true;
    return std::move(fd_);
  }

  // The number of requests that have not been answered.
  uint32_t pending = 0;

 private:
  void Add(std::string_view bytes);

  uint64_t number_;
  UniqueFd fd_;
  Peer peer_;
  std::shared_ptr<FileIntake> intake_;
  std::vector<UniqueFd> files_;
  std::string refusal_;
  std::string input_;
  std::string output_;
  bool closed_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CLIENT_H_
