// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace acceltrace::cli {
namespace {

// What a kernel or a shell would say of running this file; fine if nothing is in the way.
Status Runnable(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) {
    return Status::Error(fmt::format("cannot run {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(about.st_mode)) return Status::Error(path + " is a folder, no command");
  if (!S_ISREG(about.st_mode)) return Status::Error(path + " is no file that can be run");
  if (access(path.c_str(), X_OK) != 0) {
    return Status::Error(fmt::format("{} is not executable: chmod +x it", path));
  }
  return {};
}

// The interpreter that a script names, empty if the file is no script.
std::string InterpreterOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  if (line.substr(0, 2) != "#!") return "";
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

// The file that execvp() would run.
std::string InPath(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, colon)) + "/" + command;
    if (Runnable(file).ok()) return file;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

// What execve()'s error number means for this file.
Status ExecError(const std::string& command, int why) {
  const std::string path = InPath(command);
  const std::string interpreter = InterpreterOf(path);
  std::string text = fmt::format("cannot run {}: {}", command, std::strerror(why));
  if (!interpreter.empty() && (why == ENOENT || why == EACCES || why == ENOTDIR)) {
    text = fmt::format("cannot run {}: its interpreter {}: {}", command, interpreter,
                       std::strerror(why));
  } else if (why == ENOENT && !path.empty()) {
    text += ": the program loader that it needs is not installed";
  } else if (why == ENOEXEC) {
    text += ": neither a program for this machine nor a script that names its interpreter (#!)";
  }
  return Status::Error(text);
}

}  // namespace

Status Child::Find(const std::string& command, int* status) {
  const std::string path = InPath(command);
  *status = kNotFound;
  if (command.empty()) return Status::Error("the command is empty");
  if (path.empty()) {
    return Status::Error(fmt::format("no command {} in PATH: give its path", command));
  }
  if (access(path.c_str(), F_OK) != 0) {
    return Status::Error(fmt::format("no command {}: check the path", command));
  }
  *status = kNotRunnable;
  if (Status runnable = Runnable(path); !runnable.ok()) return runnable;
  const std::string interpreter = InterpreterOf(path);
  if (!interpreter.empty() && access(interpreter.c_str(), X_OK) != 0) {
    return ExecError(command, errno);
  }
  return {};
}

Result<Child> Child::Prepare(const std::vector<std::string>& command, bool stdout_to_stderr) {
  int gate[2], error[2];
  if (pipe2(gate, O_CLOEXEC) != 0) {
    return Status::Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  if (pipe2(error, O_CLOEXEC) != 0) {
    close(gate[0]), close(gate[1]);
    return Status::Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    for (int fd : {gate[0], gate[1], error[0], error[1]}) close(fd);
    return Status::Error(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
  }
  if (pid == 0) {
    close(gate[1]);
    close(error[0]);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    if (stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    char go = 0;
    ssize_t got;
    do {
      got = read(gate[0], &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127);  // the recorder is gone
    execvp(argv[0], argv.data());
    const int why = errno;
    (void)!write(error[1], &why, sizeof(why));
    _exit(127);
  }
  close(gate[0]);
  close(error[1]);
  Child child;
  child.pid_ = pid;
  child.gate_ = gate[1];
  child.error_ = error[0];
  child.name_ = command.front();
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      gate_(std::exchange(other.gate_, -1)),
      error_(std::exchange(other.error_, -1)),
      released_(other.released_),
      ended_(other.ended_),
      status_(other.status_),
      name_(std::move(other.name_)) {}

Child::~Child() {
  if (gate_ >= 0) close(gate_);
  if (error_ >= 0) close(error_);
  if (pid_ <= 0 || ended_ || released_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Child::Release(int* status) {
  const char go = 1;
  if (write(gate_, &go, 1) != 1) {
    return Status::Error(fmt::format("{} died before it began", name_));
  }
  released_ = true;
  close(gate_);
  gate_ = -1;
  int why = 0;
  ssize_t got;
  do {
    got = read(error_, &why, sizeof(why));
  } while (got < 0 && errno == EINTR);
  close(error_);
  error_ = -1;
  if (got == static_cast<ssize_t>(sizeof(why))) {
    *status = why == ENOENT && InterpreterOf(InPath(name_)).empty() ? kNotFound : kNotRunnable;
    return ExecError(name_, why);
  }
  return {};
}

void Child::Reap() {
  if (ended_ || pid_ <= 0) return;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Child::Kill(int signal) {
  if (pid_ > 0 && !ended_) kill(pid_, signal);
}

}  // namespace acceltrace::cli
