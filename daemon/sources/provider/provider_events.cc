// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace acceltrace::daemon {
namespace {

// Reads a record from its begin.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  template <typename T>
  bool Take(T* value) {
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  bool Take(size_t bytes, std::string_view* part) {
    if (rest_.size() < bytes) return false;
    *part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return true;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool ParseSample(std::string_view body, PerfSample* sample) {
  Cursor cursor(body);
  uint64_t time = 0;
  uint32_t size = 0;
  if (!cursor.Take(&sample->pid) || !cursor.Take(&sample->tid) || !cursor.Take(&time) ||
      !cursor.Take(&size) || !cursor.Take(size, &sample->raw) || !cursor.empty()) {
    return false;
  }
  sample->time_ns = static_cast<int64_t>(time);
  return sample->time_ns >= 0;
}

// Numbers are little-endian, as on all supported machines. Returns nullopt if it is outside of the
// record.
std::optional<uint64_t> NumberAt(std::string_view raw, const FieldPlace& place) {
  if (place.mask == 0) return 0;
  uint64_t value = 0;
  if (place.offset >= raw.size()) return std::nullopt;
  const size_t there = std::min(raw.size() - place.offset, sizeof(value));
  if (there < sizeof(value) && place.mask >> 8 * there != 0) return std::nullopt;
  std::memcpy(&value, raw.data() + place.offset, there);
  return value & place.mask;
}

std::optional<std::string_view> TextAt(std::string_view raw, const FieldPlace& place) {
  size_t offset = place.offset;
  if (place.kind == FieldPlace::kTextElsewhere) {
    const auto where = NumberAt(raw, {0xffff, place.offset, FieldPlace::kNumber});
    if (!where) return std::nullopt;
    offset = *where;
  }
  if (offset >= raw.size()) return std::nullopt;
  const std::string_view text = raw.substr(offset, kRoleTextBytes - 1);
  return text.substr(0, text.find('\0'));
}

// Returns nullopt if the record is too short.
std::optional<bool> Holds(std::string_view raw, const RoleCondition& condition) {
  bool same = false;
  if (condition.place.kind == FieldPlace::kNumber) {
    const auto number = NumberAt(raw, condition.place);
    if (!number) return std::nullopt;
    same = *number == condition.number;
  } else {
    const auto text = TextAt(raw, condition.place);
    if (!text) return std::nullopt;
    same = *text == condition.text;
  }
  return same != condition.unequal;
}

std::optional<uint64_t> BytesOf(std::string_view raw, const RoleConfig& role) {
  const auto opcode = NumberAt(raw, role.opcode), count = NumberAt(raw, role.bytes);
  if (!opcode || !count) return std::nullopt;
  const uint64_t code = *opcode & 255;
  if (role.bytes.mask == 0 || !(role.bytes_opcodes[code >> 6] & uint64_t{1} << (code & 63))) {
    return 0;
  }
  return (*count + role.bytes_add) * role.bytes_times;
}

}  // namespace

void PerfRing::Copy(uint64_t at, size_t bytes, char* to) const {
  if (bytes == 0) return;  // there may be no memory to copy to
  const uint64_t begin = at & (bytes_ - 1);
  const size_t first = std::min<uint64_t>(bytes, bytes_ - begin);
  std::memcpy(to, data_ + begin, first);
  std::memcpy(to + first, data_, bytes - first);
}

uint64_t PerfRing::Read(uint64_t tail, uint64_t head, size_t limit, Sink* sink) {
  if (head - tail > bytes_) {
    sink->OnBad();
    return head;
  }
  for (size_t count = 0; tail != head && count < limit; ++count) {
    perf_event_header header = {};
    if (head - tail >= sizeof(header)) Copy(tail, sizeof(header), reinterpret_cast<char*>(&header));
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > head - tail) {
      sink->OnBad();
      return head;
    }
    record_.resize(header.size - sizeof(header));
    Copy(tail + sizeof(header), record_.size(), record_.data());
    tail += header.size;
    const std::string_view body(record_.data(), record_.size());
    if (header.type == PERF_RECORD_SAMPLE) {
      PerfSample sample;
      ParseSample(body, &sample) ? sink->OnSample(sample) : sink->OnBad();
    } else if (header.type == PERF_RECORD_LOST) {
      uint64_t id = 0, lost = 0, thread = 0, time = 0;
      Cursor cursor(body);
      cursor.Take(&id) && cursor.Take(&lost) && cursor.Take(&thread) && cursor.Take(&time) &&
              static_cast<int64_t>(time) >= 0
          ? sink->OnLost(lost, static_cast<int64_t>(time))
          : sink->OnBad();
    }
  }
  return tail;
}

size_t ProviderMatcher::KeyHash::operator()(const Key& key) const {
  return (key.job * 0x9e3779b97f4a7c15ull ^ key.queue) * 0xbf58476d1ce4e5b9ull + key.device;
}

void ProviderMatcher::AddRole(uint32_t tracepoint, const RoleConfig& role) {
  roles_.push_back({tracepoint, role});
}

bool ProviderMatcher::Take(const PerfSample& sample, uint32_t cpu) {
  const auto tracepoint = NumberAt(sample.raw, {0xffff, 0, FieldPlace::kNumber});
  if (!tracepoint) return false;
  bool known = false;
  const size_t before = pending_.size();
  for (size_t i = 0; i < roles_.size(); ++i) {
    const RoleConfig& role = roles_[i].config;
    if (roles_[i].tracepoint != *tracepoint) continue;
    known = true;
    std::optional<bool> holds = true;
    for (const RoleCondition& condition : role.where) {
      holds = Holds(sample.raw, condition);
      if (!holds || !*holds) break;
    }
    if (holds && !*holds) continue;
    const auto queue = NumberAt(sample.raw, role.queue), job = NumberAt(sample.raw, role.job);
    const auto value = role.role == RoleConfig::kSubmit       ? BytesOf(sample.raw, role)
                       : role.role == RoleConfig::kDependency ? NumberAt(sample.raw, role.waits_for)
                                                              : NumberAt(sample.raw, role.status);
    const auto other_queue = NumberAt(sample.raw, role.waits_for_queue);
    const auto opcode = NumberAt(sample.raw, role.opcode);
    const bool named = role.opcode.mask != 0 && opcode && *opcode < kMaxOpcode;
    if (!holds || !queue || !job || !value || !other_queue) {
      pending_.resize(before);
      return false;
    }
    pending_.push_back({sample.time_ns, *queue, *job, *value, *other_queue,
                        named ? static_cast<uint32_t>(*opcode) + 1 : 0, sample.pid, sample.tid, cpu,
                        static_cast<uint16_t>(i), false, false});
  }
  if (known) ++taken_;
  return known;
}

// A kernel thread is a process of its own. A thread that works in the kernel for another process
// (io_uring) belongs to that process.
void ProviderMatcher::AskSubmitters() {
  struct Known {
    bool tracked = false, kernel = false;
  };
  std::unordered_map<uint32_t, Known> known;
  for (; asked_ < pending_.size(); ++asked_) {
    Event& event = pending_[asked_];
    if (system_wide_ || roles_[event.role].config.role != RoleConfig::kSubmit) continue;
    const auto [entry, fresh] = known.try_emplace(event.pid);
    if (fresh) {
      entry->second.tracked = sink_->IsTracked(event.pid);
      entry->second.kernel =
          kernel_threads_ && !entry->second.tracked && sink_->IsKernelThread(event.pid);
    }
    event.tracked = entry->second.tracked;
    event.kernel_thread = entry->second.kernel && event.pid == event.tid;
  }
}

void ProviderMatcher::Match(int64_t until_ns) {
  AskSubmitters();
  std::stable_sort(pending_.begin(), pending_.end(), [&](const Event& a, const Event& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    return roles_[a.role].config.role < roles_[b.role].config.role;
  });
  size_t done = 0;
  while (done < pending_.size() && pending_[done].time_ns <= until_ns) One(pending_[done++]);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(done));
  asked_ = pending_.size();
  if (no_room_ > reported_no_room_) {
    sink_->OnProviderLoss(no_room_ - reported_no_room_, no_room_first_ns_, no_room_last_ns_);
    reported_no_room_ = no_room_;
  }
}

// Recorded processes, and kernel threads, which work for all processes (write-back and deferred
// work); kernel threads are excluded if the recording belongs to an ordinary user.
bool ProviderMatcher::Wanted(const Event& event) {
  if (system_wide_ || event.kernel_thread) return true;
  return sink_->WasTracked(event.pid, event.time_ns, event.tracked);
}

void ProviderMatcher::One(const Event& event) {
  const RoleConfig& role = roles_[event.role].config;
  const Key key = {event.queue, event.job, role.device};
  if (event.time_ns < newest_ns_) ++late_;
  if (role.role == RoleConfig::kSubmit) {
    OnSubmit(event, key);
  } else if (role.role == RoleConfig::kDependency) {
    const auto found = jobs_.find(key);
    if (found != jobs_.end() && found->second.submit_ns <= event.time_ns) {
      OnDependency(event, key, found->second);
    }
  } else if (!OfReplaced(event, key)) {
    const auto found = jobs_.find(key);
    const bool known = found != jobs_.end() && found->second.submit_ns <= event.time_ns;
    if (role.role == RoleConfig::kStart) {
      if (known) Report(event, key, found->second, proto::HostBatch::KIND_DOORBELL, 0, 0);
    } else if (known) {
      const Job job = found->second;
      jobs_.erase(found);
      Report(event, key, job, proto::HostBatch::KIND_COMPLETE, event.value, 0);
    } else {
      // What was submitted before is not reported, and not counted as lost.
      KeepUnmatched(event, key);
    }
  }
  newest_ns_ = std::max(newest_ns_, event.time_ns);
}

// Handles an event of a job whose name has been reused. With events in order, that is only possible
// at the same time.
bool ProviderMatcher::OfReplaced(const Event& event, const Key& key) {
  if (event.time_ns > newest_ns_) return false;
  const auto found = std::find_if(replaced_.begin(), replaced_.end(), [&](const Replaced& one) {
    return one.key == key && one.job.submit_ns <= event.time_ns && event.time_ns <= one.until_ns;
  });
  if (found == replaced_.end()) return false;
  if (roles_[event.role].config.role == RoleConfig::kStart) {
    Report(event, key, found->job, proto::HostBatch::KIND_DOORBELL, 0, 0);
    return true;
  }
  const Job job = found->job;
  replaced_.erase(found);
  Report(event, key, job, proto::HostBatch::KIND_COMPLETE, event.value, 0);
  return true;
}

void ProviderMatcher::Replace(const Key& key, const Job& job, int64_t until_ns) {
  replaced_.push_back({key, job, until_ns});
  unfinished_since_ns_ = std::min(unfinished_since_ns_, job.submit_ns);
  if (replaced_.size() <= kMaxReplacedJobs) return;
  replaced_.pop_front();
  ++unfinished_;
}

void ProviderMatcher::KeepUnmatched(const Event& event, const Key& key) {
  if (unmatched_.size() >= kMaxProviderJobs) {
    unmatched_.clear();
    forgotten_until_ns_ = newest_ns_;
  }
  const auto [entry, fresh] = unmatched_.try_emplace(key, Unmatched{event, false});
  if (!fresh) entry->second.several = true;
}

void ProviderMatcher::OnSubmit(const Event& event, const Key& key) {
  const bool late = event.time_ns < newest_ns_;
  const auto before = jobs_.find(key);
  if (before != jobs_.end() && before->second.submit_ns <= event.time_ns) {
    Replace(key, before->second, event.time_ns);
    jobs_.erase(before);
  }
  if (!late) unmatched_.erase(key);
  if (!Wanted(event)) return;
  const Job job = {++last_number_, event.pid, event.tid, event.time_ns};
  if (late) {
    OnLateSubmit(event, key, job);
    return;
  }
  if (jobs_.size() >= kMaxProviderJobs) {
    if (no_room_ == reported_no_room_) no_room_first_ns_ = event.time_ns;
    no_room_last_ns_ = event.time_ns;
    ++no_room_;
    return;
  }
  jobs_.emplace(key, job);
  Report(event, key, job, proto::HostBatch::KIND_SUBMIT, CommandsOf(event), event.value);
}

// The low half is one command, the high half its opcode.
uint64_t ProviderMatcher::CommandsOf(const Event& event) {
  return 1 | static_cast<uint64_t>(event.opcode) << 32;
}

// Ignores dependencies on completed jobs, and on jobs that are not recorded, which have no number.
void ProviderMatcher::OnDependency(const Event& event, const Key& key, const Job& job) {
  const auto other = jobs_.find({event.other_queue, event.value, key.device});
  if (other == jobs_.end() || other->second.submit_ns > event.time_ns) return;
  if (other->second.number == job.number) return;
  Report(event, key, job, proto::HostBatch::KIND_DEPENDENCY, other->second.number, 0);
}

// Its completion is the first one after it, unless the name was reused in between.
void ProviderMatcher::OnLateSubmit(const Event& event, const Key& key, const Job& job) {
  const auto after = jobs_.find(key);
  const auto past = unmatched_.find(key);
  const bool completed = past != unmatched_.end() && past->second.event.time_ns >= event.time_ns;
  const bool unsure = (completed && past->second.several) || event.time_ns <= forgotten_until_ns_;
  if (unsure || jobs_.size() >= kMaxProviderJobs) {
    ++late_lost_;
    sink_->OnProviderLoss(1, event.time_ns, event.time_ns);
    return;
  }
  Report(event, key, job, proto::HostBatch::KIND_SUBMIT, CommandsOf(event), event.value);
  if (completed) {
    const Event completion = past->second.event;
    unmatched_.erase(past);
    Report(completion, key, job, proto::HostBatch::KIND_COMPLETE, completion.value, 0);
  } else if (after != jobs_.end()) {
    Replace(key, job, after->second.submit_ns);
  } else {
    jobs_.emplace(key, job);
  }
}

void ProviderMatcher::Report(const Event& event, const Key& key, const Job& job, uint32_t kind,
                             uint64_t arg0, uint64_t arg1) {
  HostEvent row;
  row.time_ns = event.time_ns;
  row.kind = kind;
  row.cpu = event.cpu;
  row.pid = job.pid;
  row.tid = job.tid;
  row.device = key.device;
  row.queue = static_cast<uint32_t>(key.queue);
  row.job = job.number;
  row.sequence = job.number;
  row.arg0 = arg0;
  row.arg1 = arg1;
  ++rows_;
  sink_->OnProviderEvent(row);
}

}  // namespace acceltrace::daemon
