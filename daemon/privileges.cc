// SPDX-License-Identifier: Apache-2.0
#include "daemon/privileges.h"

#include <sys/capability.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace acceltrace::daemon {
namespace {

constexpr cap_value_t kKept[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE};

struct CapDeleter {
  void operator()(cap_t caps) const { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapDeleter>;

}  // namespace

Status DropPrivileges() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Status::Error(std::string("cannot set no_new_privs: ") + strerror(errno));
  }
  const Caps have(cap_get_proc());
  const Caps keep(cap_init());
  if (!have || !keep) return Status::Error("cannot read capabilities");
  for (const cap_value_t cap : kKept) {
    cap_flag_value_t held = CAP_CLEAR;
    if (cap_get_flag(have.get(), cap, CAP_PERMITTED, &held) != 0 || held != CAP_SET) continue;
    cap_set_flag(keep.get(), CAP_PERMITTED, 1, &cap, CAP_SET);
    cap_set_flag(keep.get(), CAP_EFFECTIVE, 1, &cap, CAP_SET);
  }
  if (cap_set_proc(keep.get()) != 0) {
    return Status::Error(std::string("cannot drop capabilities: ") + strerror(errno));
  }
  return {};
}

}  // namespace acceltrace::daemon
