// SPDX-License-Identifier: Apache-2.0
#include "libtrace/ring/ask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace acceltrace::ring {
namespace {

static_assert(kAnswerSignal == SIGWINCH);

constexpr size_t kMaskBytes = 8;  // size of the kernel's signal set
constexpr int kMaxSignals = 4;    // at most two are pending: the thread's and the process's

std::atomic<int64_t> asked_ns{0};  // in CoarseNow() time, 0 = never
std::atomic<bool> answer{false};
std::atomic<bool> was_unrecorded{false};

// Works without a system call, and also where the process may not read the TSC.
int64_t CoarseNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec + 1;
}

bool IsFromKernel(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

// Sends a signal that was not the tracer's answer to its original target again.
void PassOn(siginfo_t* info) {
  if (info->si_code == SI_TKILL) {
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), kAnswerSignal, info);
  } else {
    syscall(SYS_rt_sigqueueinfo, getpid(), kAnswerSignal, info);
  }
}

enum class Answer { kNo, kYes, kNotAllowed };

// Must be called with all signals blocked. If the answer is kYes, *taken is the kernel's signal.
Answer AskOnce(const Host& host, siginfo_t* taken) {
  uint64_t only = uint64_t{1} << (kAnswerSignal - 1);
  const timespec now = {};
  siginfo_t others[kMaxSignals];
  int num_others = 0;
  Answer result = Answer::kNo;
  host.ask();
  while (num_others < kMaxSignals) {
    siginfo_t info = {};
    const long number = syscall(SYS_rt_sigtimedwait, &only, &info, &now, kMaskBytes);
    if (number != kAnswerSignal) {
      if (number < 0 && errno != EAGAIN) result = Answer::kNotAllowed;
      break;
    }
    if (IsFromKernel(info)) {
      *taken = info;
      result = Answer::kYes;
      break;
    }
    others[num_others++] = info;
  }
  while (num_others > 0) PassOn(&others[--num_others]);
  return result;
}

// sigtimedwait() takes signals of the thread before those of the process. A SIGWINCH of the
// terminal goes to the process and could be mistaken for an answer, but is not there at the second
// attempt.
bool Ask(const Host& host) {
  const int error = errno;
  uint64_t all = ~uint64_t{0}, before = 0;
  // If a seccomp filter forbids asking, recording too much is better than a recording without
  // calls.
  bool yes = true;
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, kMaskBytes) == 0) {
    siginfo_t taken, again;
    const Answer first = AskOnce(host, &taken);
    yes = first == Answer::kNotAllowed;
    if (first == Answer::kYes) {
      yes = AskOnce(host, &again) == Answer::kYes;
      if (!yes) PassOn(&taken);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, kMaskBytes);
  }
  errno = error;
  return yes;
}

}  // namespace

bool Recorded(const Host& host) {
  if (host.ask == nullptr) return true;
  const int64_t now_ns = CoarseNow(), last_ns = asked_ns.load(std::memory_order_acquire);
  if (last_ns != 0 && now_ns - last_ns < kAskAgainNs) {
    return answer.load(std::memory_order_relaxed);
  }
  const bool yes = Ask(host);
  if (!yes) was_unrecorded.store(true, std::memory_order_relaxed);
  answer.store(yes, std::memory_order_relaxed);
  asked_ns.store(now_ns, std::memory_order_release);
  return yes;
}

bool WasUnrecorded() { return was_unrecorded.load(std::memory_order_relaxed); }

}  // namespace acceltrace::ring
