// SPDX-License-Identifier: Apache-2.0
#include "daemon/private_mode.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "daemon/base/privileges.h"
#include "daemon/base/say.h"
#include "daemon/line_channel.h"
#include "daemon/outputs.h"
#include "daemon/recorder.h"
#include "daemon/service/share.h"
#include "daemon/signals.h"
#include "daemon/unix_socket.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;

// Why and how the recording must end.
struct Stop {
  std::string reason;
  int32_t command_status = -1;
  bool of_all = false;  // also ends others' recordings by this daemon
};

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && !text.empty() && end == text.data() + text.size();
}

// Returns the descriptors inherited from the parent, except the three standard ones.
std::vector<int> InheritedDescriptors(const Options& options) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = -1;
    if (ParseNumber(entry.path().filename().string(), &fd) && fd > STDERR_FILENO &&
        fd != options.control_fd &&
        std::find(options.output_fds.begin(), options.output_fds.end(), fd) ==
            options.output_fds.end()) {
      found.push_back(fd);
    }
  }
  std::erase_if(found, [](int fd) { return fcntl(fd, F_GETFD) < 0; });  // that of /proc/self/fd
  return found;
}

class PrivateRun {
 public:
  explicit PrivateRun(const Options& options) : options_(options) {
    options_.record.own_process = true;
  }

  int Run() {
    const std::vector<int> inherited = InheritedDescriptors(options_);
    signals_ = TakeSignals();
    RaisePriority();
    if (options_.control_fd >= 0) {
      int type = 0;
      socklen_t bytes = sizeof(type);
      if (getsockopt(options_.control_fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
          type != SOCK_STREAM) {
        fprintf(stderr, "acceltraced: --control-fd %d is not a stream socket\n",
                options_.control_fd);
        return 2;
      }
      channel_.emplace(UniqueFd(options_.control_fd));
      // The terminal's interrupt is for the command and its client; they end the recording when the
      // command has ended.
      setpgid(0, 0);
    }
    if (!RaiseFileLimit()) {
      return Refuse(Status::Error(
          "too few files may be open at once, of which a recording takes some hundred: raise the "
          "limit (ulimit -n)"));
    }
    if (!OpenShare()) return 1;
    if (Status status = Begin(); !status.ok()) return Refuse(status);
    for (const std::string& warning : recorder_->warnings()) {
      Say("warning: " + warning);
    }
    if (share_) share_->Serve();
    if (channel_) channel_->Send("ready");
    Stop stop = Loop();
    const Summary summary = recorder_->Stop(stop.reason, stop.command_status);
    outputs_.clear();  // removes unused files
    const bool stays = share_ && !stop.of_all && OthersGoOn(inherited);
    if (channel_ && stays) channel_->Send("stays");
    if (channel_) channel_->Send("done " + summary.ToJson());
    if (stays) WaitForOthers();
    if (!summary.error.empty()) {
      if (!channel_) Say(summary.error);
      return 1;
    }
    return 0;
  }

 private:
  int Refuse(const Status& status) {
    if (channel_) {
      channel_->Send("error: " + status.message());
    } else {
      Say(status.message());
    }
    return 1;
  }

  // Returns false if another daemon has the path, which was reported.
  bool OpenShare() {
    if (options_.share.empty()) return true;
    auto share = Share::Open(options_.share);
    if (!share.ok()) {
      Say("warning: others cannot record by this daemon: " + share.message());
      return true;
    }
    share_ = std::move(share).value();
    if (share_) return true;
    if (channel_) {
      channel_->Send("taken");
    } else {
      Refuse(Status::Error("another daemon has " + options_.share));
    }
    return false;
  }

  // This recording is over. If others are still served here, nothing inherited from the parent may
  // be kept: no terminal, no pipe whose reader waits for its end, and no file system.
  bool OthersGoOn(const std::vector<int>& inherited) {
    recorder_.reset();
    live_.reset();
    watched_.clear();
    if (!share_->Leave()) {
      share_.reset();  // before `done`, so that the next one can take the path
      return false;
    }
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) dup2(null.get(), fd);
    for (const int fd : inherited) close(fd);
    signal(SIGHUP, SIG_IGN);
    (void)!chdir("/");
    return true;
  }

  void WaitForOthers() {
    channel_.reset();
    rights_.reset();
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {share_->ended_fd(), POLLIN, 0}};
    while (poll(fds, std::size(fds), -1) < 0) {
    }
  }

  Status Begin() {
    std::vector<UniqueFd> files;
    Status status = OpenFiles(&files);
    if (status.ok()) status = Attach(std::move(files));
    if (status.ok() && !outputs_.empty()) status = outputs_.front().Place();
    if (!status.ok()) outputs_.clear();
    return status;
  }

  Status OpenFiles(std::vector<UniqueFd>* files) {
    for (const int fd : options_.output_fds) {
      files->emplace_back(fd);
      if (const Status status = CheckDescriptor(fd); !status.ok()) {
        return Status::Error("--output-fd " + std::to_string(fd) + ": " + status.message());
      }
    }
    if (!files->empty()) return {};
    auto outputs = OpenOutputs(options_.output, options_.record);
    if (!outputs.ok()) return outputs.status();
    outputs_ = std::move(outputs).value();
    *files = Descriptors(outputs_);
    return {};
  }

  Status Attach(std::vector<UniqueFd> files) {
    std::string name = options_.output.empty() ? options_.output_name : options_.output;
    if (name.empty()) name = "fd " + std::to_string(options_.output_fds.front());
    for (const uint32_t pid : options_.record.pids) {
      UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
      if (!fd.valid()) {
        const std::string why = errno == ESRCH ? "it may have exited already" : strerror(errno);
        return Status::Error("no process " + std::to_string(pid) + "; " + why);
      }
      if (!channel_) watched_.push_back(std::move(fd));
    }
    if (!options_.live_socket.empty()) {
      auto listener = Listener::Open(options_.live_socket, 0600, static_cast<gid_t>(-1));
      if (!listener.ok()) return listener.status();
      live_.emplace(std::move(listener).value());
    }
    auto recorder = Recorder::Start(options_.record, std::move(files), name);
    if (!recorder.ok()) return recorder.status();
    recorder_ = std::move(recorder).value();
    if (Status status = DropAllButNeeded(); !status.ok()) return status;
    rights_.emplace(Rights::kRecording);
    return {};
  }

  Stop Loop() {
    bool reported_failure = false;
    for (;;) {
      const int64_t pause_ns = recorder_->Poll();
      if (!recorder_->failure().ok() && !reported_failure) {
        reported_failure = true;
        if (!channel_) return {"output failed"};
        channel_->Send("failed: " + recorder_->failure().message());
      }
      if (auto stop = Wait(pause_ns)) return *stop;
    }
  }

  std::optional<Stop> Wait(int64_t pause_ns) {
    std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}};
    fds.push_back({channel_ ? channel_->fd() : -1, POLLIN, 0});
    fds.push_back({live_ ? live_->fd() : -1, POLLIN, 0});
    for (const UniqueFd& fd : watched_) fds.push_back({fd.get(), POLLIN, 0});
    fds.push_back({recorder_->wake_fd(), POLLIN, 0});
    const timespec timeout = {pause_ns / kNsPerS, pause_ns % kNsPerS};
    {
      const WithRights rights(Rights::kNone);
      if (ppoll(fds.data(), fds.size(), &timeout, nullptr) <= 0) return std::nullopt;
    }
    if (fds[0].revents != 0) {
      signalfd_siginfo info = {};
      if (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
        return Stop{info.ssi_signo == SIGINT ? "interrupted" : "terminated", -1, true};
      }
    }
    if (fds[1].revents != 0) {
      channel_->Receive();
      while (auto line = channel_->Next()) {
        if (auto stop = Obey(*line)) return stop;
      }
      if (channel_->closed()) return Stop{"client gone"};
    }
    if (fds[2].revents != 0) {
      UniqueFd reader = live_->Accept();
      // If there are too many readers, this one is not served.
      if (reader.valid()) (void)recorder_->AddLiveReader(std::move(reader));
    }
    for (size_t i = watched_.size(); i-- > 0;) {
      if (fds[3 + i].revents != 0) watched_.erase(watched_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (!channel_ && watched_.empty() && !options_.record.pids.empty()) {
      return Stop{"processes exited"};
    }
    return std::nullopt;
  }

  // Executes one line of the client.
  std::optional<Stop> Obey(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string_view verb = std::string_view(line).substr(0, space);
    const std::string_view rest =
        space == std::string::npos ? std::string_view() : std::string_view(line).substr(space + 1);
    if (verb == "stop") {
      Stop stop = {"client"};
      if (!rest.empty() && !ParseNumber(rest, &stop.command_status)) stop.command_status = -1;
      return stop;
    }
    if (verb == "pid") {
      uint32_t pid = 0;
      const Status status = ParseNumber(rest, &pid) && pid != 0
                                ? recorder_->Track(pid)
                                : Status::Error("'" + std::string(rest) + "' is not a process id");
      channel_->Send(status.ok() ? "ok" : "error: " + status.message());
    } else if (verb == "snapshot") {
      const Status status = Snapshot(std::string(rest));
      channel_->Send(status.ok() ? "ok" : "error: " + status.message());
    } else {
      channel_->Send("error: no command '" + std::string(verb) + "'");
    }
    return std::nullopt;
  }

  Status Snapshot(const std::string& path) {
    if (path.empty()) return Status::Error("snapshot needs a path");
    auto output = OpenOutputs(path, RecordOptions());
    if (!output.ok()) return output.status();
    const Status taken = recorder_->Snapshot(std::move(Descriptors(*output).front()), path);
    return taken.ok() ? output->front().Place() : taken;
  }

  Options options_;
  std::optional<WithRights> rights_;  // set once all others were dropped
  UniqueFd signals_;
  std::optional<Listener> live_;
  std::optional<LineChannel> channel_;
  std::vector<Output> outputs_;    // empty if the client passed descriptors
  std::vector<UniqueFd> watched_;  // pidfds of --pid, if there is no client
  std::unique_ptr<Share> share_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace

int RunPrivate(const Options& options) { return PrivateRun(options).Run(); }

}  // namespace acceltrace::daemon
