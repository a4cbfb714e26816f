// SPDX-License-Identifier: Apache-2.0
//
// One connection to the service: lines in, with files that may come along; lines
// out. Never waits for the other side.
#ifndef DAEMON_SERVICE_CLIENT_H_
#define DAEMON_SERVICE_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/unique_fd.h"
#include "daemon/unix_socket.h"

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

  void Receive();
  std::optional<std::string> NextLine();
  // The files that came with the lines so far, in their order. The newest message's count.
  std::vector<UniqueFd> TakeFiles() { return std::exchange(files_, {}); }

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
  uint64_t number_;
  UniqueFd fd_;
  Peer peer_;
  std::vector<UniqueFd> files_;
  std::string input_;
  std::string output_;
  bool closed_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CLIENT_H_
