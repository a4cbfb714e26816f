// SPDX-License-Identifier: Apache-2.0
//
// The command that is recorded: forked, held back until the daemon knows it,
// then run.
#ifndef LIBTRACE_CLI_CHILD_H_
#define LIBTRACE_CLI_CHILD_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

// The file that execvp() would run; empty if there is none.
std::string FileOfCommand(const std::string& command);

class Child {
 public:
  // As a shell's: there is no such command, and it is there but cannot be run.
  static constexpr int kNotFound = 127, kNotRunnable = 126;
  // Why a command cannot be run; *status is then one of these.
  static Status Find(const std::string& command, int* status);
  // Forks; the child waits. stdout_to_stderr: stdout carries the trace.
  static Result<Child> Prepare(const std::vector<std::string>& command, bool stdout_to_stderr);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills a child that was never released

  pid_t pid() const { return pid_; }
  // Lets it run the command; when that could not be executed, why, and *status as Find() says.
  Status Release(int* status);
  // Takes its exit status if it has one, without waiting. A command that has stopped itself in the
  // foreground of a terminal stops this program, too: the shell sees its job stopped.
  void Reap();
  bool ended() const { return ended_; }
  int status() const { return status_; }  // 128 + signal when killed
  int signal() const { return signal_; }  // that killed it, 0: none
  void Kill(int signal);

 private:
  Child() = default;
  void StopWithIt() const;
  pid_t pid_ = -1;
  int gate_ = -1;   // closing it after a byte lets the child go
  int error_ = -1;  // errno of exec comes back here
  bool released_ = false, ended_ = false;
  int status_ = -1, signal_ = 0;
  std::string name_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CHILD_H_
