// SPDX-License-Identifier: Apache-2.0
//
// A recording as its client sees it: by a daemon of its own (daemon_client.h) or by the
// running service (service_client.h).
#ifndef LIBTRACE_CLI_CAPTURE_SESSION_H_
#define LIBTRACE_CLI_CAPTURE_SESSION_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

class CaptureSession {
 public:
  virtual ~CaptureSession() = default;

  // Readable when something came unasked; then Hear().
  virtual int fd() const = 0;
  // Waits for the recording's beginning, for a limited time, and while `heard`, called when
  // also_fd can be read, says false. On an error there is no recording.
  virtual Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) = 0;
  // After such an error: the options were wrong, and that was said on stderr.
  virtual bool refused() const = 0;
  // After such an error: another daemon records here by now, or does no longer; begin anew.
  virtual bool again() const = 0;
  // Records a process and what it forks.
  virtual Status Track(pid_t pid) = 0;
  // Of a flight recorder: what it holds, into a new file.
  virtual Status Snapshot(const std::string& path) = 0;
  // Takes in what came unasked. false: nobody is there any more.
  virtual bool Hear() = 0;
  // Why the recording ended before it was stopped; empty if it did not.
  virtual const std::string& early_failure() const = 0;
  // command_status: of the recorded command, or -1. Returns a summary as JSON.
  virtual Result<std::string> Stop(int command_status) = 0;
  // For people, when nobody is there any more: how that came about.
  virtual std::string WaitForExit() = 0;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CAPTURE_SESSION_H_
