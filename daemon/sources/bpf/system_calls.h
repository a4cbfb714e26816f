// SPDX-License-Identifier: Apache-2.0
//
// Attaches BPF programs to the entry and the return of system calls that providers name as API
// calls. Kprobes are not used, because the kernel only tracks a limited number of pending returns
// and does not report the others.
#ifndef DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_
#define DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

class SystemCalls {
 public:
  // Prepares a program of the object, before it is loaded; it is loaded if `wanted`. Fails if the
  // kernel has no BTF.
  static Status Prepare(bpf_program* program, bool wanted);

  // Attaches copies of loaded programs to the system call `name`, with `cookie`. Fails if the
  // kernel refuses, as kernels before 6.0 do.
  Status Attach(const bpf_program* begin, const bpf_program* end, const std::string& name,
                uint64_t cookie);

  // No program runs after this. Detaches entries first, so that no call begins whose end is not
  // recorded.
  void Detach();
  bool empty() const { return programs_.empty(); }
  // The copies, for their accounts.
  const std::vector<UniqueFd>& programs() const { return programs_; }

 private:
  struct BtfDeleter {
    void operator()(btf* types) const { btf__free(types); }
  };
  Result<UniqueFd> Link(const bpf_program* like, const std::string& function, uint64_t cookie);

  std::unique_ptr<btf, BtfDeleter> types_;  // those of the kernel
  std::vector<UniqueFd> programs_, entries_, returns_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_
