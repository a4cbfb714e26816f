// SPDX-License-Identifier: Apache-2.0
//
// A private capture daemon and the lines it speaks (docs/daemon.md). Room:
// libtrace/cli: no capture code is here.
#ifndef LIBTRACE_CLI_DAEMON_CLIENT_H_
#define LIBTRACE_CLI_DAEMON_CLIENT_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

class DaemonClient {
 public:
  // Starts `acceltraced --private` (beside this executable, else in PATH) in a
  // process group of its own, so that the terminal's Ctrl-C does not reach it.
  // output_fd: passed on as --output-fd, or -1. Does not wait for it.
  static Result<DaemonClient> Start(const std::vector<std::string>& arguments, int output_fd);
  DaemonClient(DaemonClient&& other) noexcept;
  DaemonClient& operator=(DaemonClient&&) = delete;
  // Closes the socket, which ends the recording in good order, and waits for it.
  ~DaemonClient();

  int fd() const { return fd_; }  // readable when the daemon says something

  Status Send(const std::string& line);
  // The next line; nothing when the daemon is gone or timeout_ms passed (-1 = never).
  std::optional<std::string> ReadLine(int timeout_ms);
  // Waits for its end; how it ended, for people: "exit status 1".
  std::string WaitForExit();
  // After its end: whether it did not like its options, and has said so.
  bool refused() const { return refused_; }

  // Asks, and waits for "ok": other lines are errors. What came unasked
  // ("failed: ...") is kept in early_failure().
  Status Command(const std::string& line);
  // Sends the end and returns the text after "done ".
  Result<std::string> Stop(int command_status);
  // Text of a "failed: " line that came in between, empty if none.
  const std::string& early_failure() const { return early_failure_; }
  // Handles a line that nobody asked for.
  void Note(const std::string& line);

 private:
  DaemonClient() = default;

  int fd_ = -1;
  pid_t pid_ = -1;
  std::string buffer_;
  std::string early_failure_;
  bool refused_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_DAEMON_CLIENT_H_
