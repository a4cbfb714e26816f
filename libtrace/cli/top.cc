// SPDX-License-Identifier: Apache-2.0
//
// acceltrace top: shows current activity in a terminal.
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "libtrace/cli/command.h"
#include "libtrace/cli/live_screen.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/stream/file/descriptor.h"
#include "libtrace/view/text/live.h"
#include "libtrace/view/text/text_live.h"

namespace acceltrace::cli {
namespace {

constexpr char kDefaultSource[] = "/run/acceltrace/live.sock";
constexpr uint64_t kLeastLiveMs = 100;

struct Options {
  std::string source = kDefaultSource;
  uint64_t interval_ms = 1000;
  bool once = false;
  uint64_t batch = 0;  // frames, 0 = no limit
};

std::string TextOf(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Returns the CPU time of a process so far, or a negative number if it is not available.
double CpuSeconds(pid_t pid) {
  if (pid <= 0) return -1;
  std::unique_ptr<FILE, int (*)(FILE*)> file(
      std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re"), std::fclose);
  if (!file) return -1;
  char text[1024];
  const size_t got = std::fread(text, 1, sizeof(text) - 1, file.get());
  text[got] = '\0';
  const char* after_name = std::strrchr(text, ')');
  unsigned long user = 0, system = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                  &system) != 2) {
    return -1;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// A stream that is read by its own thread while it is written.
class LiveInput {
 public:
  // `fd` is closed at the end. `peer` is the process that writes the stream, 0 = not known.
  LiveInput(int fd, pid_t peer, std::string name)
      : fd_(fd), peer_(peer), name_(std::move(name)), ended_fd_(eventfd(0, EFD_CLOEXEC)) {
    cpu_s_ = CpuSeconds(peer_);
    thread_ = std::thread([this] { Read(); });
  }
  LiveInput(const LiveInput&) = delete;
  LiveInput& operator=(const LiveInput&) = delete;
  // Only a socket can be woken from its read.
  ~LiveInput() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_), close(ended_fd_);
  }

  int ended_fd() const { return ended_fd_; }
  // Returns why there is no stream; empty if there is one or it has ended.
  std::string error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  view::LiveFrame Cut(double wall_s) {
    const std::lock_guard lock(mutex_);
    view::LiveFrame frame = state_.Cut();
    frame.stream_bytes = stats_.bytes - cut_bytes_, cut_bytes_ = stats_.bytes;
    frame.missed_packets = stats_.missing_packets, frame.bad_packets = stats_.bad_packets;
    const double cpu_s = CpuSeconds(peer_);
    if (cpu_s >= 0 && cpu_s_ >= 0 && wall_s > 0) frame.tracer_cpu_share = (cpu_s - cpu_s_) / wall_s;
    cpu_s_ = cpu_s;
    return frame;
  }

 private:
  void Read() {
    auto reader = stream::OpenDescriptor(fd_, name_);
    if (!reader.ok()) {
      const std::lock_guard lock(mutex_);
      error_ = reader.message();
    } else {
      proto::Packet packet;
      while ((*reader)->Read(&packet) == stream::Reader::Next::kPacket) {
        const std::lock_guard lock(mutex_);
        state_.Add(packet, (*reader)->columns());
        stats_.bytes = (*reader)->stats().bytes;
        stats_.missing_packets = (*reader)->stats().missing_packets;
        stats_.bad_packets = (*reader)->stats().bad_packets + (*reader)->stats().gap_count;
      }
    }
    const uint64_t one = 1;
    if (write(ended_fd_, &one, sizeof(one)) < 0) return;
  }

  int fd_;
  pid_t peer_;
  std::string name_;
  int ended_fd_;
  std::mutex mutex_;
  view::LiveState state_;
  stream::ReadStats stats_;
  uint64_t cut_bytes_ = 0;
  double cpu_s_ = -1;
  std::string error_;
  std::thread thread_;
};

int RunLive(const Options& options, int fd, pid_t peer) {
  const bool batch = options.once || options.batch > 0;
  if (options.interval_ms < kLeastLiveMs) {
    close(fd);
    return Fail(kMisuse, "--interval of a live stream: at least 100ms");
  }
  LiveScreen screen(!batch);
  LiveInput input(fd, peer, options.source == "-" ? "standard input" : options.source);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const timespec period = {static_cast<time_t>(options.interval_ms / 1000),
                           static_cast<long>(options.interval_ms % 1000) * 1'000'000};
  const itimerspec every = {period, period};
  timerfd_settime(timer, 0, &every, nullptr);
  view::LiveFrame frame;
  const uint64_t most = options.once ? 1 : options.batch;
  uint64_t frames = 0;
  int status = kOk;
  for (bool ended = false; !ended;) {
    pollfd fds[] = {{timer, POLLIN, 0},
                    {input.ended_fd(), POLLIN, 0},
                    {screen.key_fd(), POLLIN, 0},
                    {screen.signal_fd(), POLLIN, 0}};
    if (poll(fds, 4, -1) < 0 && errno != EINTR) break;
    const auto wanted = screen.Wanted();
    if (wanted == LiveScreen::kQuit) break;
    uint64_t expired = 0;
    ended = (fds[1].revents & POLLIN) != 0;
    const bool due =
        (fds[0].revents & POLLIN) != 0 && read(timer, &expired, sizeof(expired)) == sizeof(expired);
    if (due || ended) {
      const std::string error = input.error();
      if (!error.empty()) {
        status = kFailed;
        screen.End();
        Fail(status, error);
        break;
      }
      frame = input.Cut(static_cast<double>(options.interval_ms) / 1e3 *
                        static_cast<double>(std::max<uint64_t>(expired, 1)));
      ended = ended || (most > 0 && frames + 1 >= most);
    } else if (wanted != LiveScreen::kRedraw) {
      continue;
    }
    ++frames;
    if (!screen.Draw(view::TextLive(frame, screen.style())).ok()) break;
  }
  close(timer);
  screen.End();
  // The read of a pipe cannot be interrupted from here.
  if (peer < 0 && status == kOk) std::_Exit(kOk);
  return status;
}

// Shows a recorded stream in its own time.
int RunFile(const Options& options) {
  auto reader = stream::Reader::Open(options.source);
  if (!reader.ok()) return Fail(kFailed, reader.message());
  LiveScreen screen(false);
  view::LiveState state;
  proto::Packet packet;
  uint64_t frames = 0, cut_bytes = 0;
  int64_t cut_ns = 0;
  const auto interval_ns = static_cast<int64_t>(options.interval_ms) * 1'000'000;
  const auto write = [&](view::LiveFrame frame) {
    const stream::ReadStats& stats = (*reader)->stats();
    frame.stream_bytes = stats.bytes - cut_bytes, cut_bytes = stats.bytes;
    frame.missed_packets = stats.missing_packets;
    frame.bad_packets = stats.bad_packets + stats.gap_count;
    return WriteStdout((frames++ > 0 ? "\n" : "") + TextOf(view::TextLive(frame, screen.style())));
  };
  while ((*reader)->Read(&packet) == stream::Reader::Next::kPacket) {
    state.Add(packet, (*reader)->columns());
    if (options.batch == 0 || options.once) continue;
    if (cut_ns == 0) cut_ns = state.now_ns();
    if (state.now_ns() - cut_ns < interval_ns) continue;
    cut_ns = state.now_ns();
    const Status wrote = write(state.Cut());
    if (!wrote.ok()) return Fail(kFailed, wrote.message());
    if (frames == options.batch) return kOk;
  }
  const bool whole = options.batch == 0 || options.once;
  const Status wrote = write(whole ? state.Whole() : state.Cut());
  return wrote.ok() ? kOk : Fail(kFailed, wrote.message());
}

int RunTop(const Options& options) {
  if (options.source == "-") {
    const int fd = dup(STDIN_FILENO);
    return fd < 0 ? Fail(kFailed, "no standard input") : RunLive(options, fd, -1);
  }
  struct stat info {};
  const char* more = options.source == kDefaultSource
                         ? ": is the service running? Else name a socket that acceltraced was "
                           "given with --live-socket, or a file"
                         : "";
  if (stat(options.source.c_str(), &info) != 0) {
    return Fail(kFailed,
                fmt::format("cannot open {}: {}{}", options.source, std::strerror(errno), more));
  }
  if (!S_ISSOCK(info.st_mode)) return RunFile(options);
  const int fd = stream::ConnectSocket(options.source);
  if (fd < 0) {
    return Fail(kFailed, fmt::format("cannot open {}: {}", options.source, std::strerror(-fd)));
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.pid = 0;
  return RunLive(options, fd, peer.pid);
}

}  // namespace

void AddTop(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "top", "What goes on now: engines, transfers, queues, processes, losses; q quits");
  auto options = std::make_shared<Options>();
  verb->AddOption("SOURCE", &options->source,
                  fmt::format("a daemon's live socket, - for stdin, or a trace, of which one "
                              "frame shows all (default {})",
                              kDefaultSource))
      .TypeName("");
  verb->AddOption("--interval", &options->interval_ms,
                  "how often, at least 100ms live (default 1s)")
      .TypeName("TIME")
      .Units({{"ms", 1}, {"s", 1000}})
      .InRange(uint64_t{1}, uint64_t{3'600'000});
  verb->AddFlag("--once", &options->once, "one frame as plain text, then end");
  verb->AddOption("--batch", &options->batch, "so many frames as plain text, then end")
      .TypeName("N")
      .InRange(uint64_t{1}, uint64_t{1'000'000'000});
  verb->Callback([options, run] { *run = [options] { return RunTop(*options); }; });
}

}  // namespace acceltrace::cli
