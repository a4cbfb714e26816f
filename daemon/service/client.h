// SPDX-License-Identifier: Apache-2.0
//
// One connection to the service: lines in, with files that may come along; lines
// out. Never waits for the other side, nor for what it hands over.
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
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

class Client {
 public:
  Client(uint64_t number, UniqueFd fd, Peer peer)
      : number_(number), fd_(std::move(fd)), peer_(std::move(peer)) {}

  uint64_t number() const { return number_; }
  const Peer& peer() const { return peer_; }
  int fd() const { return fd_.get(); }
  // Gone, or broke the rules: too long a line, answers not read.
  bool closed() const { return closed_; }
  // The socket has room again and there is something to send.
  bool wants_to_send() const { return !output_.empty(); }

  // One read for each turn of the loop: a client that floods is served no more often than the
  // others. Files that come along are taken by a thread of their own; done: readable at its end.
  void Receive(FileIntake::Kinds kinds, const std::shared_ptr<UniqueFd>& done);
  // Until then nothing else is taken.
  bool receiving() const { return intake_ != nullptr; }
  // To be called when `done` was readable, and now and then: files that keep it waiting for long
  // end the connection. The intake that goes on then, if any.
  std::shared_ptr<FileIntake> Tend(int64_t now_ns);

  bool has_line() const { return input_.find('\n') != std::string::npos; }
  std::optional<std::string> NextLine();
  // The files that came with the lines so far, in their order, or why they were not taken. The
  // newest message's count.
  Result<std::vector<UniqueFd>> TakeFiles();

  void Send(std::string_view line);
  void Flush();

  // Gives the connection away. Nothing may wait to be sent.
  UniqueFd Release() {
    closed_ = true;
    return std::move(fd_);
  }

  // Requests that have not been answered.
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
