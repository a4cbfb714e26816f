// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/cgroup_source.h"

#include <bpf/bpf.h>

#include "daemon/base/host_info.h"
#include "daemon/base/text_files.h"
#include "daemon/bpf/records.h"
#include "daemon/sources/common/clock_watch.h"
#include "daemon/sources/system/system_readers.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kPeriodNs = 1'000'000'000;

}  // namespace

Status CgroupSource::Start() {
  if (tracked_fd_ < 0) {
    return Status::Error(
        "nobody follows processes in this recording: it has neither devices nor "
        "API calls");
  }
  if (ParseCgroup(ReadText("/proc/self/cgroup")).empty()) {
    return Status::Error("this kernel has no control groups");
  }
  handler_->OnProbe("cgroup", true, "");
  return {};
}

void CgroupSource::Look(int64_t now_ns, bool all) {
  proto::Packet packet;
  proto::ProcessGroups* batch = packet.mutable_process_groups();
  stream::DeltaEncoder time;
  uint32_t pid = 0, next = 0, looked = 0;
  const uint32_t* last = nullptr;
  for (; looked < ACT_MAX_TRACKED && bpf_map_get_next_key(tracked_fd_, last, &next) == 0;
       ++looked, last = &pid) {
    pid = next;
    // A process is usually put into a group before it executes its program.
    act_tracked entry = {};
    if (bpf_map_lookup_elem(tracked_fd_, &pid, &entry) != 0) continue;
    const auto known = known_.find(pid);
    if (known != known_.end() && !all && known->second.generation == entry.generation) continue;
    std::string group = ParseCgroup(ReadText("/proc/" + std::to_string(pid) + "/cgroup"));
    if (known_.size() >= ACT_MAX_TRACKED) known_.clear();
    Known& old = known_[pid];
    old.generation = entry.generation;
    if (group.empty() || group == old.group) continue;  // it is gone or has not moved
    time.Append(now_ns, batch->mutable_time_ns_delta());
    batch->add_pid(pid);
    batch->add_group(handler_->Intern(group));
    old.group = std::move(group);
  }
  const auto count = static_cast<uint32_t>(batch->pid_size());
  if (count == 0) return;
  rows_ += count;
  handler_->OnBlock(&packet, now_ns, count, count);
}

Pace CgroupSource::Drain(int64_t now_ns) {
  const bool all = now_ns >= next_all_ns_;
  if (all) next_all_ns_ = NextMultiple(now_ns, kPeriodNs);
  // Iterating over the map takes the same time whether it is full or empty. A process that was
  // counted before it was added is found in the next drain.
  const uint64_t changes = changes_();
  const bool changed = changes != seen_changes_;
  if (all || changed || once_more_) Look(now_ns, all);
  seen_changes_ = changes;
  once_more_ = changed;
  return {};
}

std::vector<Hop> CgroupSource::Hops() {
  return {{"system-cgroup", rows_, rows_, 0, 0, kSessionHop}};
}

void CgroupSource::Stop() {
  Look(MonotonicNs(), true);
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
