// SPDX-License-Identifier: Apache-2.0
//
// Receives and closes descriptors of clients without delaying others. Closing one may block: a
// socket lingers for as long as its creator chose, and a file system in user space (FUSE) is asked
// first and may answer late.
#ifndef DAEMON_SERVICE_FILE_INTAKE_H_
#define DAEMON_SERVICE_FILE_INTAKE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// Receives one message with files from a socket, in a thread of its own.
class FileIntake {
 public:
  // The kinds of files that are returned; all others are closed by the thread.
  enum class Kinds { kAny, kRegular, kRegularOfKernel };

  struct Message {
    std::string bytes;
    std::vector<UniqueFd> files;
    std::string refusal;  // why the received files were refused
    bool closed = false;  // the peer closed the connection
  };

  // Returns an empty string if the file is of one of these kinds.
  static std::string WhyNot(int fd, Kinds kinds);

  // `done` is an eventfd that becomes readable at the end. Returns null if no thread can be
  // started.
  static std::shared_ptr<FileIntake> Start(int socket, Kinds kinds, std::shared_ptr<UniqueFd> done);

  // Returns the message once, after the end.
  std::optional<Message> Take();
  bool over();
  int64_t since_ns() const { return since_ns_; }

 private:
  static Message Receive(int socket, Kinds kinds);

  int64_t since_ns_ = 0;
  std::mutex mutex_;
  bool over_ = false;
  std::optional<Message> message_;
};

// Closes connections, as there may be unreceived files in them.
class Closer {
 public:
  Closer();
  ~Closer();

  void Close(UniqueFd fd);
  // Returns true if so many connections wait to be closed that no more should be accepted.
  bool busy() const;

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<UniqueFd> waiting_;
  bool stop_ = false;
  std::thread thread_;  // last, as it uses the other members
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_FILE_INTAKE_H_
