// SPDX-License-Identifier: Apache-2.0
//
// A recording, as its client sees it. It is made by a private daemon (daemon_client.h) or by the
// running service (service_client.h).
#ifndef LIBTRACE_CLI_CAPTURE_SESSION_H_
#define LIBTRACE_CLI_CAPTURE_SESSION_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "libtrace/base/result.h"

namespace acceltrace::cli {

class CaptureSession {
 public:
  virtual ~CaptureSession() = default;

  // Readable if there is an unsolicited message; Hear() must be called then.
  virtual int fd() const = 0;
  // Waits for a limited time for the recording to begin. Whenever also_fd is readable, calls
  // `heard`, which returns true to stop waiting. After an error there is no recording.
  virtual Status WaitUntilReady(int also_fd, const std::function<bool()>& heard) = 0;
  // After such an error: the options were wrong, which has been reported on stderr.
  virtual bool refused() const = 0;
  // After such an error: the daemon that records here has changed, and the caller must begin again.
  virtual bool again() const = 0;
  // Records a process and the processes that it forks.
  virtual Status Track(pid_t pid) = 0;
  // Saves the contents of a flight recorder to a new file.
  virtual Status Snapshot(const std::string& path) = 0;
  // Handles unsolicited messages. Returns false if the daemon is gone.
  virtual bool Hear() = 0;
  // Why the recording ended before it was stopped; empty if it did not.
  virtual const std::string& early_failure() const = 0;
  // command_status is that of the recorded command, or -1. Returns a summary as JSON.
  virtual Result<std::string> Stop(int command_status) = 0;
  // Describes, after the daemon has gone, how it ended.
  virtual std::string WaitForExit() = 0;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CAPTURE_SESSION_H_
