// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/tracer.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "daemon/bpf/records.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/bpf/system_calls.h"
#include "daemon/sources/common/bpf_error.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

// libbpf's last warning has more detail than its error code.
thread_local std::string last_warning;

int Print(libbpf_print_level level, const char* format, va_list args) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  const int length = vsnprintf(line, sizeof(line), format, args);
  last_warning = line;
  while (!last_warning.empty() && last_warning.back() == '\n') last_warning.pop_back();
  return length;
}

}  // namespace

std::string AttachReason(int error) {
  if (error == -ENOENT) return "no such probe here";
  if (error == -EINVAL) return "its arguments are not the expected ones";
  return strerror(-error);
}

Tracer::~Tracer() { tracer_bpf__destroy(skeleton_); }

Status Tracer::Load() {
  libbpf_set_print(Print);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  last_warning.clear();
  skeleton_ = tracer_bpf__open();
  if (skeleton_ == nullptr) return BpfLoadError(-errno, last_warning);
  skeleton_->rodata->self_pid = static_cast<uint32_t>(getpid());
  skeleton_->rodata->pid_ns = PidNamespace();
  skeleton_->rodata->system_wide = options_.system_wide;
  skeleton_->rodata->device_mask = options_.device_mask;
  skeleton_->rodata->wake_bytes = options_.ring_bytes / 4;
  skeleton_->rodata->owner_uid = options_.owner.value_or(ACT_ANY_USER);
  if (bpf_map__set_max_entries(skeleton_->maps.ring, options_.ring_bytes) != 0) {
    return Status::Error("BPF ring size " + std::to_string(options_.ring_bytes) + " refused");
  }
  skeleton_->rodata->take_stacks = options_.stacks;
  if (!options_.stacks) (void)bpf_map__set_max_entries(skeleton_->maps.stacks, 1);
  const bool system_calls =
      std::any_of(options_.functions.begin(), options_.functions.end(),
                  [](const LibraryFunction& one) { return one.library == provider::kKernel; });
  for (bpf_program* program :
       {skeleton_->progs.system_call_begin, skeleton_->progs.system_call_end,
        skeleton_->progs.calibrate_system_call_begin, skeleton_->progs.calibrate_system_call_end}) {
    if (Status status = SystemCalls::Prepare(program, system_calls); !status.ok()) return status;
  }
  if (const int error = tracer_bpf__load(skeleton_)) {
    const Status failed = BpfLoadError(error, last_warning);
    if (!system_calls) return failed;
    return Status::Error(failed.message() +
                         " (programs at system calls were asked for, which some kernels refuse)");
  }
  return {};
}

// The kernel skips a program that is entered again on its own CPU, without the program's own
// counters being updated.
Tracer::Cost Tracer::ReadCost() const {
  Cost cost;
  const auto add = [&cost](int program, bool misses) {
    bpf_prog_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(program, &info, &bytes) != 0) return;
    cost.run_ns += info.run_time_ns;
    cost.runs += info.run_cnt;
    if (misses) cost.missed += info.recursion_misses;
  };
  bpf_program* program;
  bpf_object__for_each_program(program, skeleton_->obj) {
    // A process that has submitted is reported by another program, or by this one the next time.
    add(bpf_program__fd(program), program != skeleton_->progs.provider_seen);
  }
  if (others_ != nullptr) {
    for (const UniqueFd& other : *others_) add(other.get(), true);
  }
  return cost;
}

}  // namespace acceltrace::daemon
