// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of others, taken and closed where that holds up nobody else. To close one may wait:
// a socket lingers as long as whoever made it has said, and a file system that a program serves
// (FUSE) is asked first and answers when it likes.
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

// One message with files, taken off its socket by a thread of its own.
class FileIntake {
 public:
  // Which files come out of it; all others are closed there.
  enum class Kinds { kAny, kRegular, kRegularOfKernel };

  struct Message {
    std::string bytes;
    std::vector<UniqueFd> files;
    std::string refusal;  // why there are none of those that came
    bool closed = false;  // the connection is at its end
  };

  // Empty: the file is of one of these kinds.
  static std::string WhyNot(int fd, Kinds kinds);

  // done: an eventfd that becomes readable at the end. Null if there can be no thread.
  static std::shared_ptr<FileIntake> Start(int socket, Kinds kinds, std::shared_ptr<UniqueFd> done);

  // Once; none before the end.
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

// Closes connections. There may be files in them that nobody has taken.
class Closer {
 public:
  Closer();
  ~Closer();

  void Close(UniqueFd fd);
  // So many wait that no more should be taken on.
  bool busy() const;

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<UniqueFd> waiting_;
  bool stop_ = false;
  std::thread thread_;  // last: uses the others
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_FILE_INTAKE_H_
