// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/coverage.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "libtrace/model/permute.h"

namespace acceltrace::analysis {

using proto::DeviceEventBatch;
using proto::HostBatch;
using Kind = proto::ProcessEvents;

Coverage::Coverage(const model::Model& model)
    : model_(model), jumps_(model.devices.size()), resets_(model.devices.size()) {
  begin_ns_ = std::max(model.info.start_ns(), model.accounts.whole_since_ns());
  end_ns_ = model.has_accounts && model.accounts.stop_ns() > 0
                ? model.accounts.stop_ns()
                : std::numeric_limits<int64_t>::max();
  const model::ProcessEvents& events = model.process_events;
  for (size_t i = 0; i < events.size(); ++i) {
    switch (events.kind[i]) {
      case Kind::KIND_ATTACHED:
        attached_.insert(events.pid[i]);
        since_ns_[events.pid[i]] = events.time_ns[i];
        until_ns_.erase(events.pid[i]);
        break;
      case Kind::KIND_SEEN:
        attached_.insert(events.pid[i]);
        since_ns_[events.pid[i]] = begin_ns_;
        break;
      case Kind::KIND_BEGUN:
        if (events.pid[i] != events.parent[i]) since_ns_[events.pid[i]] = events.time_ns[i];
        break;
      case Kind::KIND_EXECUTED:
        attached_.erase(events.pid[i]);
        late_calls_.erase(events.pid[i]);
        break;
      case Kind::KIND_CALLS:
        late_calls_.insert(events.pid[i]);
        break;
      case Kind::KIND_LEFT:
        until_ns_[events.pid[i]] = events.time_ns[i];
        break;
      default:
        break;
    }
  }
  const model::HostEvents& host = model.host;
  // Few are of this kind.
  model::EachChunk(
      [&](size_t first, size_t rows, const uint8_t* kinds) {
        const auto next = [&](const uint8_t* from) {
          return static_cast<const uint8_t*>(
              std::memchr(from, HostBatch::KIND_CONTEXT, static_cast<size_t>(kinds + rows - from)));
        };
        for (const uint8_t* at = next(kinds); at != nullptr; at = next(at + 1)) {
          const size_t i = first + static_cast<size_t>(at - kinds);
          if (host.arg0[i] != 0) continue;
          destroyed_[{host.device[i], host.context[i], host.pid[i]}].push_back(host.time_ns[i]);
        }
        return true;
      },
      host.kind);
  const model::DeviceEvents& device_events = model.device_events;
  for (size_t i = 0; i < device_events.size(); ++i) {
    const bool reset = device_events.kind[i] == DeviceEventBatch::KIND_RESET;
    if (reset) resets_[device_events.device[i]].push_back(device_events.time.host[i]);
    if (reset ||
        (device_events.kind[i] == DeviceEventBatch::KIND_CLOCK && device_events.arg1[i] != 0)) {
      jumps_[device_events.device[i]] = true;
    }
  }
}

int64_t Coverage::Since(uint32_t pid) const {
  const auto found = since_ns_.find(pid);
  if (found == since_ns_.end()) {
    // A trace that names no process: a command was recorded from its first instruction on.
    const bool command = since_ns_.empty() && model_.info.command_size() > 0;
    return command ? begin_ns_ : model::kNoTime;
  }
  return std::max(found->second, begin_ns_);
}

int64_t Coverage::Until(uint32_t pid) const {
  const auto found = until_ns_.find(pid);
  return found == until_ns_.end() ? end_ns_ : std::min(found->second, end_ns_);
}

bool Coverage::Collected(std::string_view probe, std::string_view family, bool otherwise) const {
  bool any = false;
  for (const proto::Probe& known : model_.info.probes()) {
    const std::string_view name = known.name();
    if (name.substr(0, family.size()) != family) continue;
    any = true;
    if (name.ends_with(probe)) return known.attached();
  }
  return !any && otherwise;
}

bool Coverage::ContextEnded(uint32_t device, uint32_t context, uint32_t pid,
                            int64_t from_ns) const {
  const auto found = destroyed_.find({device, context, pid});
  if (found == destroyed_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](int64_t at_ns) { return at_ns >= from_ns && at_ns < end_ns_; });
}

bool Coverage::AnyReset(uint32_t device, int64_t from_ns, int64_t to_ns) const {
  const auto& resets = resets_[device];
  return std::any_of(resets.begin(), resets.end(), [&](const model::Interval& at) {
    return at.hi_ns >= from_ns && at.lo_ns <= to_ns;
  });
}

}  // namespace acceltrace::analysis
