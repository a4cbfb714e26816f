// SPDX-License-Identifier: Apache-2.0
//
// A private capture daemon and its protocol of text lines (docs/daemon.md).
#ifndef LIBTRACE_CLI_DAEMON_CLIENT_H_
#define LIBTRACE_CLI_DAEMON_CLIENT_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/cli/capture_session.h"

namespace acceltrace::cli {

class DaemonClient final : public CaptureSession {
 public:
  // Time limits for the daemon.
  struct Limits {
    int start_ms = 60'000;  // to read the kernel's symbols and begin
    int answer_ms = 60'000;
    int stop_ms = 600'000;  // to write its data to the disk
    int end_ms = 60'000;    // to exit after its socket was closed
  };

  // Starts `acceltraced --private` (next to this executable, or from PATH) in its own process
  // group, so that the terminal's Ctrl-C does not reach it. `outputs` are open files that are
  // passed as --output-fd. Does not wait for the daemon.
  static Result<DaemonClient> Start(const std::vector<std::string>& arguments,
                                    const std::vector<int>& outputs, const Limits& limits);
  static Result<DaemonClient> Start(const std::vector<std::string>& arguments,
                                    const std::vector<int>& outputs) {
    return Start(arguments, outputs, Limits());
  }
  DaemonClient(DaemonClient&& other) noexcept;
  DaemonClient& operator=(DaemonClient&&) = delete;
  ~DaemonClient() override;  // calls WaitForExit()

  int fd() const override { return fd_; }  // readable if there is a line from the daemon

  Status Send(const std::string& line);
  // Returns the next line, or nullopt if the daemon is gone, timeout_ms has passed (-1 = never), or
  // also_fd (-1 = none) is readable first.
  std::optional<std::string> ReadLine(int timeout_ms, int also_fd = -1);
  // If this fails, the daemon has ended.
  Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) override;
  // Closes the socket, upon which the daemon exits, and waits for that; kills it if it takes too
  // long. Returns how it ended, such as "exit status 1".
  std::string WaitForExit() override;
  bool refused() const override { return refused_; }
  bool again() const override { return taken_; }
  Status Track(pid_t pid) override;
  Status Snapshot(const std::string& path) override;
  bool Hear() override;

  // Sends a command and waits for "ok"; other lines are errors. Unsolicited lines ("failed: ...")
  // are kept in early_failure().
  Status Command(const std::string& line);
  // Sends the end of the recording and returns the text after "done ".
  Result<std::string> Stop(int command_status) override;
  // The text of a "failed: " line received so far; empty if there was none.
  const std::string& early_failure() const override { return early_failure_; }
  // Handles an unsolicited line.
  void Note(const std::string& line);

 private:
  DaemonClient() = default;

  Limits limits_;
  int fd_ = -1;
  pid_t pid_ = -1;
  std::string buffer_;
  std::string early_failure_;
  bool gone_ = false;
  bool refused_ = false;
  bool taken_ = false;  // another daemon has its place
  bool stays_ = false;  // it continues for others that have joined it
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_DAEMON_CLIENT_H_
