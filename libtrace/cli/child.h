// SPDX-License-Identifier: Apache-2.0
//
// The command that is recorded: forked, held back until the daemon knows it,
// then run. Room: libtrace/cli.
#ifndef LIBTRACE_CLI_CHILD_H_
#define LIBTRACE_CLI_CHILD_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

class Child {
 public:
  // Whether a command can be run at all: a path to an executable, or in PATH.
  static Status Find(const std::string& command);
  // Forks; the child waits. stdout_to_stderr: stdout carries the trace.
  static Result<Child> Prepare(const std::vector<std::string>& command, bool stdout_to_stderr);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills a child that was never released

  pid_t pid() const { return pid_; }
  // Lets it run the command; an error when that could not be executed.
  Status Release();
  // Takes its exit status if it has one, without waiting.
  void Reap();
  bool ended() const { return ended_; }
  int status() const { return status_; }  // 128 + signal when killed
  void Kill(int signal);

 private:
  Child() = default;
  pid_t pid_ = -1;
  int gate_ = -1;   // closing it after a byte lets the child go
  int error_ = -1;  // errno of exec comes back here
  bool released_ = false, ended_ = false;
  int status_ = -1;
  std::string name_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CHILD_H_
