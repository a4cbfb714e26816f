// SPDX-License-Identifier: Apache-2.0
#include "daemon/drain_priority.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"

namespace acceltrace::daemon {
namespace {

// Between these two, a ring is drained in steps that take less than a millisecond of CPU time each.
// Above them, a device has time left to notice that the recorder does not run.
constexpr uint32_t kWatermarkPermille = 250, kLowerPermille = 600, kLiftPermille = 800;
constexpr uint32_t kFullPermille = 1000;
// How often rings are checked: in between and, above a watermark, after half of the time in which
// one would be full enough to lift the recorder.
constexpr int64_t kAlertNs = 1'000'000, kSoonNs = 100'000;
// How often it is checked that a lifted recorder really has its priority.
constexpr int64_t kLiftedNs = 5'000'000;
// The grace period after an event that no ring's fill level explains (a process waits for an
// answer).
constexpr int64_t kUrgentNs = 5'000'000;

bool RaiseLimit(__rlimit_resource resource, rlim_t wanted) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0) return false;
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = wanted;
  limit.rlim_max = std::max(limit.rlim_max, wanted);
  return setrlimit(resource, &limit) == 0;
}

// Leaving SCHED_IDLE requires permission for the thread's own nice value, and SCHED_FIFO for its
// priority. A daemon drops the capability, but what a resource limit allows remains possible.
bool MayLeaveIdle() {
  constexpr int kNiceLimit = 20;  // for a nice value of 0, see getrlimit(2)
  const auto nice_limit = static_cast<rlim_t>(kNiceLimit - getpriority(PRIO_PROCESS, 0));
  return RaiseLimit(RLIMIT_NICE, nice_limit) && RaiseLimit(RLIMIT_RTPRIO, 1);
}

// The thread itself changes from SCHED_IDLE to SCHED_FIFO and back, since a system call filter may
// refuse what the limits allow.
bool TryIdle() {
  return SetPolicy(0, SCHED_FIFO) && SetPolicy(0, SCHED_IDLE) && SetPolicy(0, SCHED_FIFO) &&
         SetPolicy(0, SCHED_IDLE);
}

}  // namespace

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
    // Each thread has its own nice value.
    if (priority.nice != 0 &&
        setpriority(PRIO_PROCESS, static_cast<id_t>(self->tid_), priority.nice) != 0) {
      return Status::Error("cannot run with --priority " + std::to_string(priority.nice) + ": " +
                           strerror(errno));
    }
    return self;
  }
  // A thread inherits its creator's scheduling debt: one created by a SCHED_IDLE thread would not
  // be scheduled for long.
  self->lifted_ = true;
  self->watcher_ = std::thread([watched = self.get()] { watched->Watch(); });
  if (!MayLeaveIdle() || !self->event_.valid() || !TryIdle()) {
    self->EndWatch();
    self->lifted_ = false;
    SetPolicy(0, SCHED_OTHER);
    if (priority.required) {
      *warning =
          "records at ordinary priority: no right to leave SCHED_IDLE for SCHED_FIFO when a ring "
          "fills (RLIMIT_NICE, RLIMIT_RTPRIO)";
    }
    return self;
  }
  // Since Linux 6.6, a thread that wakes up waits for its turn behind the busy ones: some ms for
  // each of them, in which a ring would overflow.
  const sched_param first = {.sched_priority = 1};
  (void)pthread_setschedparam(self->watcher_.native_handle(), SCHED_FIFO, &first);
  gives_way = true;
  lift_mark = &self->mark_;
  self->SetHelper(SCHED_IDLE);
  self->lifted_ = false;
  self->Poke();
  return self;
}

DrainPriority::DrainPriority(Wakes wakes)
    : wakes_(std::move(wakes)),
      tid_(static_cast<int>(syscall(SYS_gettid))),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

// Makes the watcher look again.
void DrainPriority::Poke() {
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof(one));
}

void DrainPriority::EndWatch() {
  stop_ = true;
  Poke();
  watcher_.join();
}

void DrainPriority::Hurry() {
  if (!watcher_.joinable()) return;
  EndWatch();
  hurries_ = true;
  SetHelper(SCHED_FIFO);
  SetPolicy(tid_, SCHED_FIFO);
  gives_way = false;
  lift_mark = nullptr;
}

DrainPriority::~DrainPriority() {
  Hurry();
  if (!hurries_) return;
  SetHelper(SCHED_OTHER);
  SetPolicy(tid_, SCHED_OTHER);
}

// The watcher may lift the recorder at the moment in which the recorder goes back to idle time on
// its own. The last of them applies the state that is valid by then. (A lock could be held by a
// SCHED_IDLE thread, which may not run for long.)
void DrainPriority::SetIdle(bool idle) {
  if (lifted_.exchange(!idle) == !idle) return;
  if (idle) {
    EndLift();
    Poke();  // as the recorder may not run for long in idle time
  } else {
    mark_.Set(MonotonicNs(), ThreadCpuNs(tid_));
    ++lifts_;
  }
  ApplyPolicy();
}

void DrainPriority::ApplyPolicy() {
  bool lifted;
  do {
    lifted = lifted_;
    SetPolicy(tid_, lifted ? SCHED_FIFO : SCHED_IDLE);
  } while (lifted != lifted_);
}

// The recorder may have gone back to idle time at the moment in which it was lifted, and then has
// no CPU time to notice it.
void DrainPriority::KeepLifted() {
  if (sched_getscheduler(tid_) != (SCHED_FIFO | SCHED_RESET_ON_FORK)) ApplyPolicy();
}

void DrainPriority::SetHelper(int policy) {
  IdleHelper* helper = wakes_.helper;
  if (helper == nullptr) return;
  helper->idle = policy == SCHED_IDLE;
  helper->lifted = false;
  if (helper->tid != 0) SetPolicy(helper->tid, policy);
}

// The recorder does not track work that it gave to the helper, so this checks whether that is late.
// Returns the ns until the next check.
int64_t DrainPriority::TendHelper() {
  IdleHelper* helper = wakes_.helper;
  if (helper == nullptr || !helper->idle || helper->lifted) return kLongestLookNs;
  const int64_t since_ns = helper->since_ns;
  if (since_ns == IdleHelper::kNothing) return kLongestLookNs;
  const int64_t left_ns = since_ns + kMostLateNs - MonotonicNs();
  if (left_ns > 0) return std::clamp(left_ns, kAlertNs, kLongestLookNs);
  helper->Lift();
  return kLongestLookNs;
}

void DrainPriority::CaughtUp(int64_t due_ns) {
  ++polls_;
  due_ns_ = due_ns;
  if (idle()) SetIdle(true);
}

// With much input there is always more to do, so that it suffices that the rings are not nearly
// full any more.
void DrainPriority::Working(int64_t due_ns, uint32_t fill_permille) {
  ++polls_;
  due_ns_ = due_ns;
  if (idle() && lifted_ && !late_ && fill_permille < kLowerPermille) SetIdle(true);
}

DrainPriority::Look DrainPriority::LookAt(const Look& before, bool urgent) {
  Look look;
  look.at_ns = MonotonicNs();
  look.fill_permille = wakes_.fill();
  look.alert = look.fill_permille >= kWatermarkPermille;
  look.polls = polls_;
  look.urgent_ns = urgent ? look.at_ns : before.polls == look.polls ? before.urgent_ns : 0;
  const int64_t due_ns = due_ns_;
  late_ = due_ns != INT64_MAX && look.at_ns >= due_ns + kMostLateNs;
  if (due_ns != INT64_MAX) {
    look.next_ns = std::clamp(due_ns + kMostLateNs - look.at_ns, kAlertNs, kLongestLookNs);
  }
  const bool forgotten =
      look.urgent_ns != 0 && (!look.alert || look.at_ns - look.urgent_ns > kUrgentNs);
  // At the rate of the last two looks, the next look but one might be too late.
  const uint32_t grown =
      before.alert ? look.fill_permille - std::min(before.fill_permille, look.fill_permille) : 0;
  look.lift = late_ || forgotten || look.fill_permille >= kLiftPermille ||
              look.fill_permille + 2 * grown >= kFullPermille;
  if (look.alert) look.next_ns = kAlertNs;
  if (look.alert && look.fill_permille >= kFullPermille / 2 && !before.alert) {
    look.next_ns = kSoonNs;
  } else if (grown > 0 && !look.lift) {
    const int64_t left_ns = (look.at_ns - before.at_ns) *
                            static_cast<int64_t>(kLiftPermille - look.fill_permille) / grown;
    look.next_ns = std::clamp(left_ns / 2, kSoonNs, kAlertNs);
  }
  return look;
}

// Each look takes CPU time from other programs: it belongs to the tracer's work, too.
void DrainPriority::LogLook(int64_t begin_ns, uint64_t* cpu_ns) {
  if (wakes_.log == nullptr) return;
  const uint64_t now_cpu_ns = ThreadCpuNs();
  const int cpu = sched_getcpu();
  wakes_.log->Add(begin_ns, MonotonicNs(), now_cpu_ns - *cpu_ns,
                  cpu < 0 ? 0 : static_cast<uint32_t>(cpu));
  *cpu_ns = now_cpu_ns;
}

void DrainPriority::Watch() {
  DropAllButScheduling();
  Look look;
  uint64_t cpu_ns = ThreadCpuNs();
  int64_t begin_ns = 0;
  while (!stop_) {
    if (begin_ns != 0) LogLook(begin_ns, &cpu_ns);
    // While the thread is lifted, only the end of its work is waited for.
    pollfd fds[] = {{event_.get(), POLLIN, 0},
                    {lifted_ || look.alert ? -1 : wakes_.watermark_fd, POLLIN, 0},
                    {lifted_ ? -1 : wakes_.urgent_fd, POLLIN, 0}};
    // A lifted recorder may wait for its helper.
    const int64_t next_ns = lifted_ ? kLiftedNs : look.next_ns;
    const timespec pause = {0, std::min(next_ns, TendHelper())};
    if (ppoll(fds, 3, &pause, nullptr) < 0 && errno != EINTR) return;
    begin_ns = MonotonicNs();
    uint64_t count;
    if (fds[0].revents != 0) (void)!read(event_.get(), &count, sizeof(count));
    epoll_event edge;
    const bool urgent =
        (fds[2].revents & POLLIN) != 0 && epoll_wait(wakes_.urgent_fd, &edge, 1, 0) > 0;
    if (lifted_) {
      KeepLifted();
      continue;
    }
    look = LookAt(look, urgent);
    if (look.lift) {
      look = {};
      SetIdle(false);
    }
  }
}

}  // namespace acceltrace::daemon
