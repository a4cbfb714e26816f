// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace acceltrace::daemon {
namespace {

// Takes a record apart from its begin.
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
  uint64_t time = 0, abi = 0, reg = 0;
  uint32_t size = 0;
  if (!cursor.Take(&sample->pid) || !cursor.Take(&sample->tid) || !cursor.Take(&time) ||
      !cursor.Take(&size) || !cursor.Take(size, &sample->raw) || !cursor.Take(&abi) ||
      (abi != PERF_SAMPLE_REGS_ABI_NONE && !cursor.Take(&reg)) || !cursor.empty()) {
    return false;
  }
  sample->time_ns = static_cast<int64_t>(time);
  if (sample->time_ns < 0) return false;
  // Only kernel threads have no registers of a user's. On later kernels io_uring's workers have
  // none either: those are threads of another process.
  sample->kernel_thread = abi == PERF_SAMPLE_REGS_ABI_NONE && sample->pid == sample->tid;
  return true;
}

// Numbers are little-endian here, as are all machines that this runs on. Nothing: outside.
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

// Nothing: the record is too short for it.
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
    const auto value = role.role == RoleConfig::kSubmit ? BytesOf(sample.raw, role)
                                                        : NumberAt(sample.raw, role.status);
    if (!holds || !queue || !job || !value) {
      pending_.resize(before);
      return false;
    }
    pending_.push_back({sample.time_ns, *queue, *job, *value, sample.pid, sample.tid, cpu,
                        static_cast<uint16_t>(i), sample.kernel_thread, false});
  }
  if (known) ++taken_;
  return known;
}

void ProviderMatcher::AskSubmitters() {
  std::unordered_map<uint32_t, bool> known;
  for (; asked_ < pending_.size(); ++asked_) {
    Event& event = pending_[asked_];
    if (system_wide_ || roles_[event.role].config.role != RoleConfig::kSubmit) continue;
    const auto [entry, fresh] = known.try_emplace(event.pid, false);
    if (fresh) entry->second = sink_->IsTracked(event.pid);
    event.tracked = entry->second;
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
  if (no_room_ > told_no_room_) {
    sink_->OnProviderLoss(no_room_ - told_no_room_, no_room_first_ns_, no_room_last_ns_);
    told_no_room_ = no_room_;
  }
}

// Recorded processes, and kernel threads, which work for everyone: write-back and what was put
// off. Those not for a recording that belongs to an ordinary user.
bool ProviderMatcher::Wanted(const Event& event) {
  if (system_wide_ || (kernel_threads_ && event.kernel_thread)) return true;
  return sink_->WasTracked(event.pid, event.time_ns, event.tracked);
}

void ProviderMatcher::One(const Event& event) {
  const RoleConfig& role = roles_[event.role].config;
  const Key key = {event.queue, event.job, role.device};
  if (role.role == RoleConfig::kSubmit) {
    OnSubmit(event, key);
    return;
  }
  // What was submitted unseen is not reported, and not lost.
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  if (role.role == RoleConfig::kStart) {
    Tell(event, key, found->second, proto::HostBatch::KIND_DOORBELL, 0, 0);
    return;
  }
  const Job job = found->second;
  jobs_.erase(found);
  Tell(event, key, job, proto::HostBatch::KIND_COMPLETE, event.value, 0);
}

void ProviderMatcher::OnSubmit(const Event& event, const Key& key) {
  // One of the same name that is under way has lost its completion.
  jobs_.erase(key);
  if (!Wanted(event)) return;
  const Job job = {++last_number_, event.pid, event.tid};
  if (jobs_.size() >= kMaxProviderJobs) {
    if (no_room_ == told_no_room_) no_room_first_ns_ = event.time_ns;
    no_room_last_ns_ = event.time_ns;
    ++no_room_;
    return;
  }
  jobs_.emplace(key, job);
  Tell(event, key, job, proto::HostBatch::KIND_SUBMIT, 1, event.value);
}

void ProviderMatcher::Tell(const Event& event, const Key& key, const Job& job, uint32_t kind,
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
