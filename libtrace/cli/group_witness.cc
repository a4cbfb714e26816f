// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/group_witness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

namespace acceltrace::cli {
namespace {

// Returns the pending signals of the process as a whole.
uint64_t PendingOf(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string name;
  uint64_t mask = 0;
  while (status >> name) {
    if (name == "ShdPnd:") return status >> std::hex >> mask ? mask : 0;
  }
  return 0;
}

}  // namespace

void GroupWitness::Begin() {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ != 0) return;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // Do not hold the command's files open.
  close_range(0, UINT_MAX, 0);
  while (getppid() == parent) pause();
  _exit(0);
}

void GroupWitness::End() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

bool GroupWitness::Saw(int signal) {
  if (pid_ <= 0) return false;
  // A signal to a group is delivered to its processes sequentially.
  constexpr timespec kOthers = {0, 2'000'000};
  nanosleep(&kOthers, nullptr);
  const bool saw = (PendingOf(pid_) >> (signal - 1) & 1) != 0;
  if (saw) End(), Begin();  // the next process has nothing pending
  return saw;
}

}  // namespace acceltrace::cli
