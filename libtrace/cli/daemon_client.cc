// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/daemon_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "libtrace/cli/command.h"

namespace acceltrace::cli {
namespace {

constexpr char kDaemon[] = "acceltraced";
constexpr int kKilledMs = 5'000;  // after SIGKILL, only a broken driver can hold it
constexpr size_t kMaxLineBytes = 4096;

std::string FindDaemon() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length > 0 && static_cast<size_t>(length) < sizeof(self)) {
    std::string beside(self, static_cast<size_t>(length));
    beside = beside.substr(0, beside.rfind('/') + 1) + kDaemon;
    if (access(beside.c_str(), X_OK) == 0) return beside;
  }
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + kDaemon;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

using Clock = std::chrono::steady_clock;

int LeftMs(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(static_cast<int>(left.count()), 0);
}

// Returns true if the process ends before timeout_ms.
bool EndsWithin(int pidfd, int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    pollfd ended{pidfd, POLLIN, 0};
    const int polled = poll(&ended, 1, LeftMs(deadline));
    if (polled < 0 && errno == EINTR) continue;
    return polled != 0;
  }
}

}  // namespace

Result<DaemonClient> DaemonClient::Start(const std::vector<std::string>& arguments,
                                         const std::vector<int>& outputs, const Limits& limits) {
  const std::string daemon = FindDaemon();
  if (daemon.empty()) {
    return Status::Error(
        "no acceltraced beside this program nor in PATH: build or install all of acceltrace");
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status::Error(fmt::format("cannot make a socket pair: {}{}", std::strerror(errno),
                                     errno == EMFILE ? ": raise ulimit -n" : ""));
  }
  std::vector<std::string> words = {daemon, "--private", "--control-fd", std::to_string(ends[1])};
  for (const int fd : outputs) {
    words.push_back("--output-fd");
    words.push_back(std::to_string(fd));
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]), close(ends[1]);
    return Status::Error(fmt::format("cannot start {}: {}", daemon, std::strerror(errno)));
  }
  if (pid == 0) {
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    fcntl(ends[1], F_SETFD, 0);
    for (const int fd : outputs) fcntl(fd, F_SETFD, 0);
    execv(daemon.c_str(), argv.data());
    _exit(127);
  }
  close(ends[1]);
  DaemonClient client;
  client.limits_ = limits;
  client.fd_ = ends[0];
  client.pid_ = pid;
  return client;
}

DaemonClient::DaemonClient(DaemonClient&& other) noexcept
    : limits_(other.limits_),
      fd_(std::exchange(other.fd_, -1)),
      pid_(std::exchange(other.pid_, -1)),
      buffer_(std::move(other.buffer_)),
      early_failure_(std::move(other.early_failure_)),
      gone_(other.gone_),
      refused_(other.refused_) {}

DaemonClient::~DaemonClient() { WaitForExit(); }

Status DaemonClient::Send(const std::string& line) {
  std::string bytes = line + "\n";
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Status::Error("the capture daemon is gone: " + WaitForExit());
    bytes.erase(0, static_cast<size_t>(sent));
  }
  return {};
}

std::optional<std::string> DaemonClient::ReadLine(int timeout_ms, int also_fd) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (fd_ >= 0) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    gone_ = buffer_.size() > kMaxLineBytes;  // such a line does not come from our daemon
    if (gone_) break;
    pollfd ready[] = {{fd_, POLLIN, 0}, {also_fd, POLLIN, 0}};
    const int polled = poll(ready, 2, timeout_ms < 0 ? -1 : LeftMs(deadline));
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) break;
    if (ready[0].revents == 0) break;
    char bytes[1024];
    const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
    if (got < 0 && errno == EINTR) continue;
    gone_ = got <= 0;
    if (gone_) break;
    buffer_.append(bytes, static_cast<size_t>(got));
  }
  return std::nullopt;
}

Status DaemonClient::WaitUntilReady(int also_fd, const std::function<bool()>& heard) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(limits_.start_ms);
  std::optional<std::string> first;
  bool interrupted = false;
  while (!first && !gone_ && !interrupted && LeftMs(deadline) > 0) {
    first = ReadLine(LeftMs(deadline), also_fd);
    pollfd also{also_fd, POLLIN, 0};
    interrupted = !first && poll(&also, 1, 0) > 0 && heard();
  }
  if (first == "ready") return {};
  const bool silent = !first && !gone_;
  const std::string ended = WaitForExit();
  constexpr std::string_view kError = "error: ";
  taken_ = first == "taken";
  if (interrupted) return Status::Error("interrupted before the recording began");
  if (first && first->rfind(kError, 0) == 0) return Status::Error(first->substr(kError.size()));
  if (first) return Status::Error("the capture daemon speaks another protocol");
  return Status::Error("the capture daemon did not start: " +
                       (silent ? fmt::format("no word for {} ms, ", limits_.start_ms) : "") +
                       ended);
}

std::string DaemonClient::WaitForExit() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (pid_ <= 0) return "it ended before";
  std::string forced;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd >= 0 && !EndsWithin(pidfd, limits_.end_ms)) {
    kill(pid_, SIGKILL);
    forced = fmt::format("it did not end within {} ms, ", limits_.end_ms);
    const bool ended = EndsWithin(pidfd, kKilledMs);
    if (!ended) {
      close(pidfd);
      return forced +
             fmt::format("nor when killed: process {} is left behind", std::exchange(pid_, -1));
    }
  }
  if (pidfd >= 0) close(pidfd);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return forced +
           fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  refused_ = WEXITSTATUS(status) == kMisuse;
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

void DaemonClient::Note(const std::string& line) {
  constexpr std::string_view kFailed = "failed: ";
  if (line.rfind(kFailed, 0) == 0 && early_failure_.empty()) {
    early_failure_ = line.substr(kFailed.size());
  }
}

Status DaemonClient::Track(pid_t pid) { return Command(fmt::format("pid {}", pid)); }

Status DaemonClient::Snapshot(const std::string& path) {
  if (path.find('\n') != std::string::npos) {
    return Status::Error(
        "the name of a snapshot of a private recording has no line breaks: choose "
        "another -o");
  }
  return Command("snapshot " + path);
}

bool DaemonClient::Hear() {
  const auto line = ReadLine(0);
  if (line) Note(*line);
  return line.has_value();
}

Status DaemonClient::Command(const std::string& line) {
  Status sent = Send(line);
  if (!sent.ok()) return sent;
  while (true) {
    const auto answer = ReadLine(limits_.answer_ms);
    if (!answer) return Status::Error("the capture daemon does not answer");
    if (*answer == "ok") return {};
    constexpr std::string_view kError = "error: ";
    if (answer->rfind(kError, 0) == 0) return Status::Error(answer->substr(kError.size()));
    Note(*answer);
  }
}

Result<std::string> DaemonClient::Stop(int command_status) {
  const Status sent = Send(command_status < 0 ? "stop" : "stop " + std::to_string(command_status));
  if (!sent.ok()) return sent;
  while (true) {
    const auto answer = ReadLine(limits_.stop_ms);
    if (!answer) return Status::Error("the capture daemon died before the end: " + WaitForExit());
    constexpr std::string_view kDone = "done ";
    if (answer->rfind(kDone, 0) == 0) {
      std::string summary = answer->substr(kDone.size());
      if (stays_) pid_ = -1;
      WaitForExit();
      return summary;
    }
    stays_ = stays_ || *answer == "stays";
    Note(*answer);
  }
}

}  // namespace acceltrace::cli
