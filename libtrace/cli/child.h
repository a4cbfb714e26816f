// SPDX-License-Identifier: Apache-2.0
//
// The recorded command: forked, held until the daemon knows it, then executed.
#ifndef LIBTRACE_CLI_CHILD_H_
#define LIBTRACE_CLI_CHILD_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::cli {

// Returns the file that execvp() would execute, or an empty string.
std::string FileOfCommand(const std::string& command);

class Child {
 public:
  // The same as a shell's: the command does not exist, or exists but cannot be executed.
  static constexpr int kNotFound = 127, kNotRunnable = 126;
  // Returns why a command cannot be executed, with *status set to one of these.
  static Status Find(const std::string& command, int* status);
  // Forks; the child waits. stdout_to_stderr is used if stdout carries the trace.
  static Result<Child> Prepare(const std::vector<std::string>& command, bool stdout_to_stderr);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills a child that was never released

  pid_t pid() const { return pid_; }
  // Lets the child execute the command. If this fails, returns the reason with *status as in
  // Find().
  Status Release(int* status);
  // Takes its exit status if there is one, without waiting. If the command has stopped itself in
  // the foreground of a terminal, this program stops, too, so that the shell sees a stopped job.
  void Reap();
  bool ended() const { return ended_; }
  int status() const { return status_; }  // 128 + signal when killed
  int signal() const { return signal_; }  // that killed it, 0 = none
  void Kill(int signal);

 private:
  Child() = default;
  void StopWithIt() const;
  pid_t pid_ = -1;
  int gate_ = -1;   // a byte before closing it releases the child
  int error_ = -1;  // receives errno of a failed exec
  bool released_ = false, ended_ = false;
  int status_ = -1, signal_ = 0;
  std::string name_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CHILD_H_
