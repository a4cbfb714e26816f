// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/tracked_processes.h"

#include <bpf/bpf.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/base/host_info.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

constexpr char kNotYours[] =
    " does not run as you alone, or may not be looked into; only root may record it";

}  // namespace

Status TrackedProcesses::Open() {
  const size_t bytes = ACT_MAX_DEVICES * ACT_MAX_CONTEXTS * 8;  // array values are 8 bytes apart
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       bpf_map__fd(tracer_->skeleton()->maps.context_owner), 0);
  if (address == MAP_FAILED) return Status::Error("cannot map the BPF context table");
  owners_ = Mapping(address, bytes);
  return {};
}

Status TrackedProcesses::MayTrack(uint32_t pid) const {
  const std::string name = "process " + std::to_string(pid);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return Status::Error("no " + name + "; it may have exited already");
  const auto& owner = tracer_->options().owner;
  if (!owner || ProcessUser(pid) == owner) return {};
  return Status::Error(name + kNotYours);
}

Status TrackedProcesses::Track(uint32_t pid) {
  const std::string name = "process " + std::to_string(pid);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() && errno != ESRCH) {
    return Status::Error("cannot follow " + name + ": " + strerror(errno));
  }
  if (!pidfd.valid()) return Status::Error("no " + name + "; it may have exited already");
  const auto others = [&, owner = tracer_->options().owner] {
    return owner && ProcessUser(pid) != owner;
  };
  const std::string refusal = name + kNotYours;
  if (others()) return Status::Error(refusal);
  const int map = map_fd();
  // An earlier process with this pid does not matter: this one exists.
  act_tracked value = {};
  if (bpf_map_lookup_elem(map, &pid, &value) == 0 && value.exited != 0) {
    bpf_map_delete_elem(map, &pid);
  }
  value = {};
  const bool fresh = bpf_map_update_elem(map, &pid, &value, BPF_NOEXIST) == 0;
  const int64_t since_ns = MonotonicNs();  // it is completely recorded from here on
  if (!fresh && errno != EEXIST) {
    return Status::Error("cannot follow " + name + ": " + strerror(errno));
  }
  // Ensures that the pid was not reused: the process is still the one that was checked.
  pollfd exited = {pidfd.get(), POLLIN, 0};
  if (poll(&exited, 1, 0) != 0) {
    bpf_map_delete_elem(map, &pid);
    return Status::Error("no " + name + "; it has exited");
  }
  // It may have executed a program with other rights before it was recorded.
  if (fresh && others()) {
    bpf_map_delete_elem(map, &pid);
    return Status::Error(refusal);
  }
  if (fresh) {
    ++tracked_here_;
    since_ns_[pid] = since_ns;
    handler_->OnProcessEvent({since_ns, proto::ProcessEvents::KIND_ATTACHED, pid, pid, 0});
  }
  for (Listener* listener : listeners_) listener->OnTracked(pid);
  return {};
}

bool TrackedProcesses::IsTracked(uint32_t pid) const {
  act_tracked value = {};
  return bpf_map_lookup_elem(map_fd(), &pid, &value) == 0;
}

bool TrackedProcesses::WasTracked(uint32_t pid, int64_t time_ns, bool now) const {
  const auto since = since_ns_.find(pid);
  if (since != since_ns_.end() && time_ns < since->second) return false;
  if (now) return true;
  const auto left = left_ns_.find(pid);
  return left != left_ns_.end() && time_ns < left->second;
}

int64_t TrackedProcesses::since_ns(uint32_t pid) const {
  const auto found = since_ns_.find(pid);
  return found == since_ns_.end() ? 0 : found->second;
}

int TrackedProcesses::map_fd() const { return bpf_map__fd(tracer_->skeleton()->maps.tracked); }

uint64_t TrackedProcesses::changes() const {
  const uint32_t* in_kernel = &tracer_->skeleton()->bss->last_image;
  return tracked_here_ + __atomic_load_n(in_kernel, __ATOMIC_ACQUIRE);
}

bool TrackedProcesses::Wanted(uint32_t device, uint32_t context, uint64_t correlation) {
  if (tracer_->options().system_wide) return true;
  if (correlation >> 32 != 0) return WantedClient(static_cast<uint32_t>(correlation >> 32));
  if (context == kNoContext) return true;
  const uint32_t* owner = ContextOwner(device, context);
  return owner != nullptr && __atomic_load_n(owner, __ATOMIC_RELAXED) != 0;
}

// A client's owner never changes, except that its process may stop being recorded (OnLeft).
uint32_t TrackedProcesses::ClientOwner(uint32_t client) {
  const auto cached = client_owners_.find(client);
  if (cached != client_owners_.end()) return cached->second;
  uint32_t pid = 0;
  const int map = bpf_map__fd(tracer_->skeleton()->maps.clients);
  if (bpf_map_lookup_elem(map, &client, &pid) != 0) return 0;
  if (client_owners_.size() >= ACT_MAX_TRACKED) client_owners_.clear();
  client_owners_[client] = pid;
  return pid;
}

bool TrackedProcesses::WantedClient(uint32_t client) {
  return tracer_->options().system_wide || ClientOwner(client) != 0;
}

void TrackedProcesses::NoteClients(const std::vector<DeviceClient>& clients) {
  const int map = bpf_map__fd(tracer_->skeleton()->maps.clients);
  for (const DeviceClient& each : clients) {
    if (each.pid == 0 || (!tracer_->options().system_wide && !IsTracked(each.pid))) continue;
    (void)bpf_map_update_elem(map, &each.client, &each.pid, BPF_NOEXIST);
  }
}

uint32_t* TrackedProcesses::ContextOwner(uint32_t device, uint32_t context) {
  if (device >= ACT_MAX_DEVICES || context >= ACT_MAX_CONTEXTS) return nullptr;
  char* slot = static_cast<char*>(owners_.get()) + 8 * (device * ACT_MAX_CONTEXTS + context);
  return reinterpret_cast<uint32_t*>(slot);
}

void TrackedProcesses::NoteJob(uint32_t device, uint32_t context, uint32_t pid,
                               uint64_t correlation) {
  const uint32_t owner = ClientOwner(static_cast<uint32_t>(correlation >> 32));
  if (owner != 0) pid = owner;
  if (pid == 0) return;
  if (uint32_t* slot = ContextOwner(device, context)) {
    __atomic_store_n(slot, pid, __ATOMIC_RELAXED);
  }
  // An id without a count is not that of a library call.
  if (static_cast<uint32_t>(correlation) == 0) return;
  for (Listener* listener : listeners_) listener->OnJobOf(pid);
}

void TrackedProcesses::OnLeft(uint32_t pid, int64_t time_ns) {
  if (left_ns_.size() >= ACT_MAX_TRACKED) left_ns_.clear();
  left_ns_[pid] = time_ns;
  // Clients that it had opened and passed on do not belong to its current program.
  const int map = bpf_map__fd(tracer_->skeleton()->maps.clients);
  std::vector<uint32_t> gone;
  uint32_t client = 0, next = 0, owner = 0;
  const uint32_t* last = nullptr;
  for (uint32_t looked = 0; looked < ACT_MAX_TRACKED && bpf_map_get_next_key(map, last, &next) == 0;
       ++looked, last = &client) {
    client = next;
    if (bpf_map_lookup_elem(map, &client, &owner) == 0 && owner == pid) gone.push_back(client);
  }
  for (const uint32_t each : gone) bpf_map_delete_elem(map, &each);
  client_owners_.clear();
  __atomic_store_n(&tracer_->skeleton()->bss->last_owner, 0, __ATOMIC_RELAXED);
}

}  // namespace acceltrace::daemon
