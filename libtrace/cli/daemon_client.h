// SPDX-License-Identifier: Apache-2.0
//
// A private capture daemon and the lines it speaks (docs/daemon.md).
#ifndef LIBTRACE_CLI_DAEMON_CLIENT_H_
#define LIBTRACE_CLI_DAEMON_CLIENT_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/cli/capture_session.h"
#include "libtrace/stream/result.h"

namespace acceltrace::cli {

class DaemonClient final : public CaptureSession {
 public:
  // How long the daemon may take.
  struct Limits {
    int start_ms = 60'000;  // to read the kernel's symbols and begin
    int answer_ms = 60'000;
    int stop_ms = 600'000;  // to write what it has to the disk
    int end_ms = 60'000;    // to end once its socket is closed
  };

  // Starts `acceltraced --private` (beside this executable, else in PATH) in a
  // process group of its own, so that the terminal's Ctrl-C does not reach it.
  // outputs: open files, passed on as --output-fd. Does not wait for it.
  static Result<DaemonClient> Start(const std::vector<std::string>& arguments,
                                    const std::vector<int>& outputs, const Limits& limits);
  static Result<DaemonClient> Start(const std::vector<std::string>& arguments,
                                    const std::vector<int>& outputs) {
    return Start(arguments, outputs, Limits());
  }
  DaemonClient(DaemonClient&& other) noexcept;
  DaemonClient& operator=(DaemonClient&&) = delete;
  ~DaemonClient() override;  // as WaitForExit()

  int fd() const override { return fd_; }  // readable when the daemon says something

  Status Send(const std::string& line);
  // The next line; nothing when the daemon is gone, timeout_ms passed (-1 = never) or
  // also_fd (-1 = none) can be read first.
  std::optional<std::string> ReadLine(int timeout_ms, int also_fd = -1);
  // On an error the daemon has ended.
  Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) override;
  // Closes the socket, which ends it in good order, and waits for that; one that does
  // not end is killed. How it ended, for people: "exit status 1".
  std::string WaitForExit() override;
  bool refused() const override { return refused_; }
  bool again() const override { return taken_; }
  Status Track(pid_t pid) override;
  Status Snapshot(const std::string& path) override;
  bool Hear() override;

  // Asks, and waits for "ok": other lines are errors. What came unasked
  // ("failed: ...") is kept in early_failure().
  Status Command(const std::string& line);
  // Sends the end and returns the text after "done ".
  Result<std::string> Stop(int command_status) override;
  // Text of a "failed: " line that came in between, empty if none.
  const std::string& early_failure() const override { return early_failure_; }
  // Handles a line that nobody asked for.
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
  bool taken_ = false;  // its place, by another daemon
  bool stays_ = false;  // for others that have joined it
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_DAEMON_CLIENT_H_
