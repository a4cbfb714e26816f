// SPDX-License-Identifier: Apache-2.0
//
// Counts runs of BPF programs that the kernel skipped, as the program was already running on the
// same CPU.
#ifndef DAEMON_SOURCES_COMMON_BPF_MISSES_H_
#define DAEMON_SOURCES_COMMON_BPF_MISSES_H_

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdint>

namespace acceltrace::daemon {

struct BpfRuns {
  uint64_t missed = 0;
  uint64_t run_ns = 0, runs = 0;  // 0 unless the kernel measures them
};

inline BpfRuns CountRuns(const bpf_object* object) {
  BpfRuns sum;
  bpf_program* program;
  bpf_object__for_each_program(program, object) {
    bpf_prog_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) != 0) continue;
    sum.missed += info.recursion_misses;
    sum.run_ns += info.run_time_ns;
    sum.runs += info.run_cnt;
  }
  return sum;
}

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_BPF_MISSES_H_
