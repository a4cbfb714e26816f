// SPDX-License-Identifier: Apache-2.0
#include "daemon/drain_priority.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "daemon/sources/host_info.h"

namespace acceltrace::daemon {
namespace {

// How late the recorder may be before it is lifted, and how often that is looked at: a wake-up
// costs what is recorded some microseconds.
constexpr int64_t kLateNs = 250'000'000;
// Between the two a ring is worked off in steps, each of which takes the processor for less
// than a millisecond; above them a device has time left to notice that nobody comes.
constexpr uint32_t kWatermarkPermille = 250, kLowerPermille = 600, kLiftPermille = 800;
// How often a ring above its watermark is looked at: the fastest device fills a fifth of one
// in a millisecond.
constexpr timespec kAlert = {0, 1'000'000}, kSoon = {0, 200'000}, kLook = {0, 250'000'000};
constexpr uint32_t kSoonPermille = 550;
constexpr int kMostCpus = CPU_SETSIZE;

bool ParseInt(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool SetPolicy(int tid, bool idle) {
  const sched_param param = {};
  return sched_setscheduler(tid, (idle ? SCHED_IDLE : SCHED_OTHER) | SCHED_RESET_ON_FORK, &param) ==
         0;
}

// Coming back from SCHED_IDLE needs a right that a daemon may drop: what a resource limit
// allows stays.
bool MayComeBack() {
  constexpr rlim_t kNiceZero = 20;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NICE, &limit) != 0) return false;
  if (limit.rlim_cur >= kNiceZero) return true;
  limit.rlim_cur = kNiceZero;
  if (limit.rlim_max < kNiceZero) limit.rlim_max = kNiceZero;
  return setrlimit(RLIMIT_NICE, &limit) == 0;
}

}  // namespace

Result<Priority> ParsePriority(const std::string& text) {
  Priority priority;
  priority.idle = text == "idle";
  if (priority.idle) return priority;
  if (text == "normal") return priority;
  if (!ParseInt(text, &priority.nice) || priority.nice < -20 || priority.nice > 19) {
    return Status::Error("not idle, normal or a nice value from -20 to 19");
  }
  return priority;
}

Result<std::vector<int>> ParseCpus(const std::string& text) {
  std::vector<int> cpus;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t dash = part.find('-');
    int first = -1, last = -1;
    if (!ParseInt(part.substr(0, dash), &first) || first < 0) break;
    last = first;
    if (dash != std::string_view::npos && !ParseInt(part.substr(dash + 1), &last)) break;
    if (last < first || last >= kMostCpus) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (comma == std::string_view::npos) return cpus;
    rest.remove_prefix(comma + 1);
  }
  return Status::Error("not a list of processors such as 0,2-5");
}

Result<std::unique_ptr<DrainPriority>> DrainPriority::Apply(const Priority& priority,
                                                            const std::vector<int>& cpus,
                                                            Wakes wakes, std::string* warning) {
  if (!cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
      return Status::Error(std::string("cannot run on the processors of --cpu: ") +
                           strerror(errno));
    }
  }
  std::unique_ptr<DrainPriority> self(new DrainPriority(std::move(wakes)));
  if (!priority.idle) {
    // Threads have a nice value each.
    if (priority.nice != 0 &&
        setpriority(PRIO_PROCESS, static_cast<id_t>(self->tid_), priority.nice) != 0) {
      return Status::Error("cannot run with --priority " + std::to_string(priority.nice) + ": " +
                           strerror(errno));
    }
    return self;
  }
  if (!MayComeBack() || !self->event_.valid()) {
    *warning = "records at ordinary priority: no right to leave SCHED_IDLE again when a ring fills";
    return self;
  }
  if (!SetPolicy(self->tid_, true)) {
    *warning = std::string("records at ordinary priority: SCHED_IDLE: ") + strerror(errno);
    return self;
  }
  DrainPriority* watched = self.get();
  self->watcher_ = std::thread([watched] { watched->Watch(); });
  return self;
}

DrainPriority::DrainPriority(Wakes wakes)
    : wakes_(std::move(wakes)),
      tid_(static_cast<int>(syscall(SYS_gettid))),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DrainPriority::~DrainPriority() {
  if (!watcher_.joinable()) return;
  stop_ = true;
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof(one));
  watcher_.join();
  SetPolicy(tid_, false);
}

void DrainPriority::SetIdle(bool idle) {
  if (lifted_.exchange(!idle) == !idle) return;
  SetPolicy(tid_, idle);
  if (!idle) {
    ++lifts_;
    return;
  }
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof(one));
}

void DrainPriority::CaughtUp(int64_t due_ns) {
  due_ns_ = due_ns;
  if (watcher_.joinable()) SetIdle(true);
}

// There is more to do for long where much comes in: that it came out of the narrow is enough.
void DrainPriority::Working(int64_t now_ns, uint32_t fill_permille) {
  due_ns_ = now_ns;
  if (lifted_ && !late_ && fill_permille < kLowerPermille) SetIdle(true);
}

bool DrainPriority::MustLift(bool urgent, uint32_t fill_permille) {
  const int64_t due_ns = due_ns_;
  late_ = due_ns != INT64_MAX && MonotonicNs() > due_ns + kLateNs;
  return late_ || urgent || fill_permille >= kLiftPermille;
}

void DrainPriority::Watch() {
  SetPolicy(static_cast<int>(syscall(SYS_gettid)), false);
  bool alert = false;
  uint32_t fill_permille = 0;
  while (!stop_) {
    // While the thread is lifted there is nothing to wait for but its being done.
    pollfd fds[] = {{event_.get(), POLLIN, 0},
                    {lifted_ || alert ? -1 : wakes_.watermark_fd, POLLIN, 0},
                    {lifted_ ? -1 : wakes_.urgent_fd, POLLIN, 0}};
    const timespec* look = !alert ? &kLook : fill_permille < kSoonPermille ? &kAlert : &kSoon;
    if (ppoll(fds, 3, look, nullptr) < 0 && errno != EINTR) return;
    uint64_t count;
    if (fds[0].revents != 0) (void)!read(event_.get(), &count, sizeof(count));
    epoll_event edge;
    const bool urgent =
        (fds[2].revents & POLLIN) != 0 && epoll_wait(wakes_.urgent_fd, &edge, 1, 0) > 0;
    if (lifted_) continue;
    const bool watermark = (fds[1].revents & POLLIN) != 0;
    fill_permille = watermark || alert ? wakes_.fill() : 0;
    alert = fill_permille >= kWatermarkPermille;
    if (MustLift(urgent, fill_permille)) {
      alert = false;
      SetIdle(false);
    }
  }
}

}  // namespace acceltrace::daemon
