// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/privileges.h"

#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace acceltrace::daemon {
namespace {

constexpr int kNice = -10;
// The last two are needed to open the files that a process has mapped, even if their path does not
// exist here, and its rings, which have no path. The owner of the process is checked before.
constexpr cap_value_t kRecording[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE,
                                      CAP_DAC_READ_SEARCH};

struct CapDeleter {
  void operator()(cap_t caps) const { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapDeleter>;

// The state of the calling thread, set once it has dropped the others.
thread_local bool dropped = false;
thread_local Rights in_effect = Rights::kNone;

std::string Failure(const char* what) { return std::string(what) + ": " + strerror(errno); }

// Makes these rights effective; the recording ones and CAP_SYS_ADMIN stay permitted if they are
// now.
Status Apply(Rights rights) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Status::Error(Failure("cannot set no_new_privs"));
  }
  const Caps have(cap_get_proc());
  const Caps keep(cap_init());
  if (!have || !keep) return Status::Error("cannot read capabilities");
  const auto add = [&](cap_value_t cap, bool effective) {
    cap_flag_value_t held = CAP_CLEAR;
    if (cap_get_flag(have.get(), cap, CAP_PERMITTED, &held) != 0 || held != CAP_SET) return;
    cap_set_flag(keep.get(), CAP_PERMITTED, 1, &cap, CAP_SET);
    if (effective) cap_set_flag(keep.get(), CAP_EFFECTIVE, 1, &cap, CAP_SET);
  };
  for (const cap_value_t cap : kRecording) add(cap, rights != Rights::kNone);
  add(CAP_SYS_ADMIN, rights == Rights::kAttaching);
  if (cap_set_proc(keep.get()) != 0) return Status::Error(Failure("cannot drop capabilities"));
  return {};
}

void Have(Rights rights) {
  if (!dropped || rights == in_effect) return;
  // If they are not permitted, the call that needs them will report it.
  if (Apply(rights).ok()) in_effect = rights;
}

}  // namespace

void RaisePriority() { (void)!setpriority(PRIO_PROCESS, 0, kNice); }

bool RaiseFileLimit() {
  constexpr rlim_t kLeast = 128, kWanted = 65536;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return true;
  rlimit more = limit;
  more.rlim_cur = kWanted;
  more.rlim_max = std::max(more.rlim_max, kWanted);
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) return true;
  limit.rlim_cur = std::min(limit.rlim_max, kWanted);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= kLeast;
}

void DropAll() {
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const Caps none(cap_init());
  if (none) (void)cap_set_proc(none.get());
}

void DropAllButScheduling() {
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const Caps have(cap_get_proc());
  const Caps keep(cap_init());
  const cap_value_t nice = CAP_SYS_NICE;
  cap_flag_value_t held = CAP_CLEAR;
  if (!have || !keep) return;
  if (cap_get_flag(have.get(), nice, CAP_EFFECTIVE, &held) == 0 && held == CAP_SET) {
    cap_set_flag(keep.get(), CAP_PERMITTED, 1, &nice, CAP_SET);
    cap_set_flag(keep.get(), CAP_EFFECTIVE, 1, &nice, CAP_SET);
  }
  (void)cap_set_proc(keep.get());
}

Status DropAllButNeeded() {
  Status status = Apply(Rights::kNone);
  dropped = status.ok();
  in_effect = Rights::kNone;
  return status;
}

WithRights::WithRights(Rights rights) : before_(in_effect) { Have(rights); }

WithRights::~WithRights() { Have(before_); }

}  // namespace acceltrace::daemon
