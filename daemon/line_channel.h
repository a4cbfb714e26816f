// SPDX-License-Identifier: Apache-2.0
//
// Lines of limited length over a socket, in both directions.
#ifndef DAEMON_LINE_CHANNEL_H_
#define DAEMON_LINE_CHANNEL_H_

#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

class LineChannel {
 public:
  static constexpr size_t kMaxLineBytes = 4096;

  explicit LineChannel(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  // Returns true if the peer has closed the connection, it failed, or a line was too long.
  bool closed() const { return closed_; }

  // Reads what has arrived, without waiting.
  void Receive();
  // Returns the next complete line without its newline.
  std::optional<std::string> Next();

  // Adds the newline. Waits at most a second for a peer that does not read.
  void Send(std::string_view line);

 private:
  UniqueFd fd_;
  std::string input_;
  bool closed_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_LINE_CHANNEL_H_
