// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/system_calls.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libtrace/provider/machine.h"

namespace acceltrace::daemon {
namespace {

// Programs are first loaded for this one; acceltraced calls it to measure their cost.
constexpr char kExample[] = "getpgid";

std::string EntryOf(const std::string& name) { return provider::kSystemCallEntry + name; }

}  // namespace

Status SystemCalls::Prepare(bpf_program* program, bool wanted) {
  (void)bpf_program__set_autoload(program, wanted);
  if (!wanted) return {};
  const int error = bpf_program__set_attach_target(program, 0, EntryOf(kExample).c_str());
  if (error == 0) return {};
  return Status::Error(std::string("system calls cannot be recorded: ") + strerror(-error) +
                       ": take a kernel with BTF (CONFIG_DEBUG_INFO_BTF)");
}

// A program of this type is bound to one function when it is loaded.
Result<UniqueFd> SystemCalls::Link(const bpf_program* like, const std::string& function,
                                   uint64_t cookie) {
  if (!types_) types_.reset(btf__load_vmlinux_btf());
  const int id =
      types_ ? btf__find_by_name_kind(types_.get(), function.c_str(), BTF_KIND_FUNC) : -errno;
  if (id < 0) return Status::Error("the kernel's BTF has no " + function);
  const bpf_attach_type type = bpf_program__expected_attach_type(like);
  LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = type,
              .attach_btf_id = static_cast<uint32_t>(id));
  UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(like), "GPL",
                                 bpf_program__insns(like), bpf_program__insn_cnt(like), &load));
  if (!program.valid()) {
    return Status::Error("BPF program at " + function + " refused: " + strerror(errno));
  }
  LIBBPF_OPTS(bpf_link_create_opts, create);
  create.tracing.cookie = cookie;
  UniqueFd link(bpf_link_create(program.get(), 0, type, &create));
  if (!link.valid()) {
    return Status::Error("cannot attach to " + function + ": " + strerror(errno) +
                         ": it takes Linux 6.0");
  }
  programs_.push_back(std::move(program));
  return link;
}

Status SystemCalls::Attach(const bpf_program* begin, const bpf_program* end,
                           const std::string& name, uint64_t cookie) {
  auto at_return = Link(end, EntryOf(name), cookie);
  if (!at_return.ok()) return at_return.status();
  auto at_entry = Link(begin, EntryOf(name), cookie);
  if (!at_entry.ok()) return at_entry.status();
  returns_.push_back(std::move(at_return).value());
  entries_.push_back(std::move(at_entry).value());
  return {};
}

void SystemCalls::Detach() {
  entries_.clear();
  returns_.clear();
}

}  // namespace acceltrace::daemon
