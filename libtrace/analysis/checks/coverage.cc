// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/coverage.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "libtrace/model/tables/permute.h"

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
  FindLives();
  const model::HostEvents& host = model.host;
  // Only few events are of this kind.
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

void Coverage::FindLives() {
  const model::ProcessEvents& events = model_.process_events;
  const auto order = model::RowsByKey(events.size(), [&](uint32_t i) { return events.time_ns[i]; });
  std::unordered_set<uint32_t> gone;  // threads that ended or are no longer recorded
  for (const uint32_t i : order) {
    const int64_t at_ns = events.time_ns[i];
    const uint32_t pid = events.pid[i];
    const bool begun = events.kind[i] == Kind::KIND_BEGUN && pid != events.parent[i];
    const bool executed = events.kind[i] == Kind::KIND_EXECUTED;
    const bool attached = events.kind[i] == Kind::KIND_ATTACHED;
    std::vector<Life>& lives = lives_[pid];
    if (lives.empty()) {
      lives.emplace_back();
    } else if (begun || executed || (attached && gone.count(pid) != 0)) {
      // Another program inherits how long the previous one was recorded.
      Life next = executed ? lives.back() : Life();
      lives.back().to_ns = next.from_ns = at_ns;
      lives.push_back(next);
    }
    if (begun || attached) gone.erase(pid);
    Life& life = lives.back();
    switch (events.kind[i]) {
      case Kind::KIND_ATTACHED:
        life.attached = true;
        life.since_ns = at_ns;
        life.until_ns = std::numeric_limits<int64_t>::max();
        break;
      case Kind::KIND_SEEN:
        life.attached = true;
        life.since_ns = begin_ns_;
        break;
      case Kind::KIND_BEGUN:
        if (begun) life.since_ns = at_ns;
        break;
      case Kind::KIND_EXECUTED:
        life.attached = life.late_calls = false;
        break;
      case Kind::KIND_CALLS:
        life.late_calls = true;
        break;
      case Kind::KIND_LEFT:
        life.until_ns = at_ns;
        gone.insert(pid);
        break;
      case Kind::KIND_ENDED:
        if (pid == events.tid[i]) gone.insert(pid);
        break;
      default:
        break;
    }
    any_since_ = any_since_ || life.since_ns != model::kNoTime;
  }
}

Coverage::Life Coverage::LifeAt(uint32_t pid, int64_t at_ns) const {
  Life life;
  if (const auto found = lives_.find(pid); found != lives_.end()) {
    const std::vector<Life>& lives = found->second;
    const auto is_before = [](int64_t when_ns, const Life& next) { return when_ns < next.from_ns; };
    life = *(std::upper_bound(lives.begin() + 1, lives.end(), at_ns, is_before) - 1);
  }
  if (life.since_ns != model::kNoTime) {
    life.since_ns = std::max(life.since_ns, begin_ns_);
  } else if (!any_since_ && model_.info.command_size() > 0) {
    // The trace names no process, so that a command was recorded from its first instruction on.
    life.since_ns = begin_ns_;
  }
  life.until_ns = std::min(life.until_ns, end_ns_);
  return life;
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
