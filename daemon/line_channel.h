// SPDX-License-Identifier: Apache-2.0
//
// Lines over a socket, in both directions, bounded.
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
  // The other side closed, broke, or sent a line that is too long.
  bool closed() const { return closed_; }

  // Reads what is there without waiting.
  void Receive();
  // The next whole line, without its newline.
  std::optional<std::string> Next();

  // Adds the newline. Waits at most a second for a reader that does not read.
  void Send(std::string_view line);

 private:
  UniqueFd fd_;
  std::string input_;
  bool closed_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_LINE_CHANNEL_H_
