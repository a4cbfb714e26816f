// SPDX-License-Identifier: Apache-2.0
//
// System calls that providers name as API calls: a BPF program at the entry of each, and one at its
// return. Not kprobes, of which the kernel watches only so many returns at once and says nothing
// of the others.
#ifndef DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_
#define DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

class SystemCalls {
 public:
  // Programs of the object, to be called before it is loaded: they are loaded if `wanted`. Errors:
  // the kernel has no BTF.
  static Status Prepare(bpf_program* program, bool wanted);

  // Copies of loaded programs at the system call `name`, which get `cookie`. Errors: the kernel
  // refuses, as those before 6.0 do.
  Status Attach(const bpf_program* begin, const bpf_program* end, const std::string& name,
                uint64_t cookie);

  // No program runs after this. Entries first, so that no call is seen to begin whose end is not.
  void Detach();
  bool empty() const { return programs_.empty(); }
  // The copies, for their accounts.
  const std::vector<UniqueFd>& programs() const { return programs_; }

 private:
  struct BtfDeleter {
    void operator()(btf* types) const { btf__free(types); }
  };
  Result<UniqueFd> Link(const bpf_program* like, const std::string& function, uint64_t cookie);

  std::unique_ptr<btf, BtfDeleter> types_;  // the kernel's
  std::vector<UniqueFd> programs_, entries_, returns_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_SYSTEM_CALLS_H_
