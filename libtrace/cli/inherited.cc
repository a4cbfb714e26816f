// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/inherited.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "libtrace/stream/file/descriptor.h"

namespace acceltrace::cli {
namespace {

struct Treated {
  int signal;
  void (*here)(int);  // the action in this program
  struct sigaction before;
};
Treated treated[] = {{SIGPIPE, SIG_IGN, {}}, {SIGXFSZ, SIG_IGN, {}}, {SIGCHLD, SIG_DFL, {}}};
sigset_t mask_before;

}  // namespace

void TakeInheritance() {
  sigprocmask(SIG_SETMASK, nullptr, &mask_before);
  for (Treated& each : treated) {
    struct sigaction action = {};
    action.sa_handler = each.here;
    sigaction(each.signal, &action, &each.before);
  }
  stream::OpenStandardDescriptors(O_CLOEXEC);
}

bool WasIgnored(int signal) {
  for (const Treated& each : treated) {
    if (each.signal == signal) return each.before.sa_handler == SIG_IGN;
  }
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void RestoreInheritance() {
  for (const Treated& each : treated) sigaction(each.signal, &each.before, nullptr);
  // The command must not inherit handlers that clean up this program's output.
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    if (action.sa_handler != SIG_DFL) ::signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &mask_before, nullptr);
}

void DieOf(int signal) {
  std::fflush(nullptr);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  constexpr int kKilled = 128;  // the signal did not end this process, either
  _exit(kKilled + signal);
}

}  // namespace acceltrace::cli
