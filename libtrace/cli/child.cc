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
#include <ctime>
#include <fstream>
#include <string_view>
#include <utility>

#include "libtrace/cli/inherited.h"

namespace acceltrace::cli {
namespace {

// Checks for the errors that a kernel or shell would report when executing this file.
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

// Returns the interpreter of a script, or an empty string for other files.
std::string InterpreterOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  if (line.substr(0, 2) != "#!") return "";
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

// Returns where commands are searched: without PATH, in the system's default.
std::string SearchPath() {
  if (const char* path = std::getenv("PATH")) return path;
  std::string path(confstr(_CS_PATH, nullptr, 0), '\0');
  confstr(_CS_PATH, path.data(), path.size());
  return path.substr(0, path.find('\0'));
}

// Finds the file that a shell would execute. If none can be executed, returns one that exists.
std::string InPath(const std::string& command) {
  if (command.find('/') != std::string::npos || command.empty()) return command;
  const std::string path = SearchPath();
  std::string there;
  for (size_t at = 0; at <= path.size();) {
    const size_t colon = std::min(path.find(':', at), path.size());
    // An empty folder means the current one.
    const std::string folder = colon == at ? "." : path.substr(at, colon - at);
    const std::string file = folder + "/" + command;
    if (Runnable(file).ok()) return file;
    struct stat about {};
    if (there.empty() && stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode)) there = file;
    at = colon + 1;
  }
  return there;
}

// Returns true if a shell would run a file that the kernel cannot execute as a script: its first
// line is text.
bool IsText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[128];
  file.read(begin, sizeof(begin));
  const std::string_view all(begin, static_cast<size_t>(file.gcount()));
  const std::string_view line = all.substr(0, all.find('\n'));
  return line.substr(0, 4) != "\177ELF" && line.find('\0') == line.npos;
}

// Explains the error number of execve() for this file.
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

std::string FileOfCommand(const std::string& command) { return InPath(command); }

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
  std::string path = InPath(command.front()), sh = "/bin/sh";
  std::vector<std::string> words = command;
  std::vector<char*> argv, by_shell = {sh.data(), path.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  by_shell.insert(by_shell.end(), argv.begin() + 1, argv.end());
  const bool text = IsText(path);
  const pid_t pid = fork();
  if (pid < 0) {
    for (int fd : {gate[0], gate[1], error[0], error[1]}) close(fd);
    return Status::Error(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
  }
  if (pid == 0) {
    close(gate[1]);
    close(error[0]);
    RestoreInheritance();
    if (stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    char go = 0;
    ssize_t got;
    do {
      got = read(gate[0], &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127);  // the recorder is gone
    execv(path.c_str(), argv.data());
    const int why = errno;
    if (why == ENOEXEC && text) execv(sh.c_str(), by_shell.data());
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
      signal_(other.signal_),
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
  if (waitpid(pid_, &status, WNOHANG) != pid_) return StopWithIt();
  ended_ = true;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  status_ = WIFSIGNALED(status) ? 128 + signal_ : WEXITSTATUS(status);
}

void Child::StopWithIt() const {
  const auto stopped = [this](int more) {
    siginfo_t info{};
    const bool known =
        waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | more) == 0;
    return known && info.si_pid == pid_ && info.si_status != SIGSTOP;
  };
  if (!stopped(WNOWAIT)) return;
  // Only do so in the foreground: otherwise, the user may not know that this has to be continued.
  const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  const bool foreground = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
  if (terminal >= 0) close(terminal);
  if (!foreground) return;
  // If the terminal stops and continues both together, they continue in sequence.
  constexpr timespec kTogether = {0, 50'000'000};
  nanosleep(&kTogether, nullptr);
  if (stopped(0)) raise(SIGSTOP);
}

void Child::Kill(int signal) {
  if (pid_ > 0 && !ended_) kill(pid_, signal);
}

}  // namespace acceltrace::cli
