// SPDX-License-Identifier: Apache-2.0
#include "daemon/privileges.h"

#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace acceltrace::daemon {
namespace {

constexpr int kNice = -10;
// The last two open what a process has mapped, also where its path leads nowhere here, and look
// through its descriptors; whose process it is has been checked before.
constexpr cap_value_t kRecording[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE,
                                      CAP_DAC_READ_SEARCH};

struct CapDeleter {
  void operator()(cap_t caps) const { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapDeleter>;

// Of what is permitted now: the recording ones stay permitted and in effect,
// CAP_SYS_ADMIN only on request.
Status Keep(bool admin_in_effect) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Status::Error(std::string("cannot set no_new_privs: ") + strerror(errno));
  }
  const Caps have(cap_get_proc());
  const Caps keep(cap_init());
  if (!have || !keep) return Status::Error("cannot read capabilities");
  const auto add = [&](cap_value_t cap, bool in_effect) {
    cap_flag_value_t held = CAP_CLEAR;
    if (cap_get_flag(have.get(), cap, CAP_PERMITTED, &held) != 0 || held != CAP_SET) return;
    cap_set_flag(keep.get(), CAP_PERMITTED, 1, &cap, CAP_SET);
    if (in_effect) cap_set_flag(keep.get(), CAP_EFFECTIVE, 1, &cap, CAP_SET);
  };
  for (const cap_value_t cap : kRecording) add(cap, true);
  add(CAP_SYS_ADMIN, admin_in_effect);
  if (cap_set_proc(keep.get()) != 0) {
    return Status::Error(std::string("cannot drop capabilities: ") + strerror(errno));
  }
  return {};
}

}  // namespace

void RaisePriority() { (void)!setpriority(PRIO_PROCESS, 0, kNice); }

void DropAll() {
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const Caps none(cap_init());
  if (none) (void)cap_set_proc(none.get());
}

Status DropAllButAttach() { return Keep(false); }
Status RaiseForAttach() { return Keep(true); }

}  // namespace acceltrace::daemon
