// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/bpf_events.h"

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxThreads = 1 << 20;  // remembered; others are looked up again
constexpr size_t kMaxNamesPerProcess = 1 << 16;

struct TypeInfo {
  size_t bytes;
  act_hop hop;
};

// Size 0 means that there is no such type.
constexpr TypeInfo kTypes[ACT_NUM_TYPES] = {
    {0, ACT_HOP_API},
    {sizeof(act_api_begin), ACT_HOP_API},
    {sizeof(act_api_end), ACT_HOP_API},
    {sizeof(act_range), ACT_HOP_API},
    {sizeof(act_range_pop), ACT_HOP_API},
    {sizeof(act_range), ACT_HOP_API},
    {sizeof(act_name), ACT_HOP_PROCESS},
    {sizeof(act_name), ACT_HOP_API},
    {sizeof(act_host), ACT_HOP_DRIVER},
    {sizeof(act_process), ACT_HOP_PROCESS},
    {sizeof(act_ring), ACT_HOP_PROCESS},
    {sizeof(act_ring), ACT_HOP_PROCESS},
    {sizeof(act_job), ACT_HOP_DRIVER},
    {sizeof(act_wake), ACT_HOP_DRIVER},
    {sizeof(act_stack), ACT_HOP_PROCESS},
    {sizeof(act_call_stack), ACT_HOP_STACK},
};

template <size_t N>
std::string_view Text(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

int64_t TimeNs(const act_head& head) { return static_cast<int64_t>(head.time_ns); }

uint64_t ThreadOf(const act_head& head) { return uint64_t{head.pid} << 32 | head.tid; }

HostEvent ToHostEvent(const act_host& record) {
  HostEvent event;
  event.time_ns = TimeNs(record.h);
  event.kind = record.kind;
  event.cpu = record.h.cpu;
  event.pid = record.h.pid;
  event.tid = record.h.tid;
  event.device = record.h.extra;
  event.context = record.context;
  event.queue = record.queue;
  event.job = record.job;
  event.sequence = record.sequence;
  event.correlation = record.correlation;
  event.arg0 = record.arg0;
  event.arg1 = record.arg1;
  return event;
}

}  // namespace

void BpfEvents::Handle(const void* data, size_t bytes) {
  act_head head = {};
  if (bytes >= sizeof(head)) std::memcpy(&head, data, sizeof(head));
  if (head.type >= ACT_NUM_TYPES || kTypes[head.type].bytes == 0) {
    ++bad_[ACT_HOP_API];
    return;
  }
  const TypeInfo& type = kTypes[head.type];
  if (bytes < type.bytes) {
    ++bad_[type.hop];
    return;
  }
  ++out_[type.hop];
  switch (head.type) {
    case ACT_API_BEGIN: {
      const auto& record = *static_cast<const act_api_begin*>(data);
      NoteThread(head.pid, head.tid);
      if (calls_ != nullptr) calls_->Begin(ThreadOf(head), TimeNs(head), record.correlation);
      handler_->OnApiBegin({TimeNs(head), head.pid, head.tid, NameAt(head.pid, record.name),
                            head.extra, record.correlation, record.bytes});
      break;
    }
    case ACT_API_END: {
      const auto& record = *static_cast<const act_api_end*>(data);
      if (calls_ != nullptr) calls_->End(ThreadOf(head), TimeNs(head), record.correlation);
      handler_->OnApiEnd({TimeNs(head), head.pid, head.tid, static_cast<int32_t>(head.extra),
                          record.correlation, NameAt(head.pid, record.name)});
      break;
    }
    case ACT_RANGE_PUSH:
    case ACT_MARK: {
      const auto& record = *static_cast<const act_range*>(data);
      NoteThread(head.pid, head.tid);
      const RangePush event = {TimeNs(head), head.pid, head.tid,
                               TextOrMemory(record.text, head.pid, record.address), head.extra};
      head.type == ACT_MARK ? handler_->OnMark(event) : handler_->OnRangePush(event);
      break;
    }
    case ACT_RANGE_POP:
      handler_->OnRangePop({TimeNs(head), head.pid, head.tid, head.extra});
      break;
    case ACT_NAME:
      OnName(*static_cast<const act_name*>(data));
      break;
    case ACT_OP_NAME: {
      const auto& record = *static_cast<const act_name*>(data);
      handler_->OnOpName(head.pid, head.extra, TextOrMemory(record.text, head.pid, record.address));
      break;
    }
    case ACT_HOST:
      NoteUse(head.pid, static_cast<const act_host*>(data)->correlation);
      handler_->OnHost(ToHostEvent(*static_cast<const act_host*>(data)));
      break;
    case ACT_RING_READY:
      for (ProcessWatcher* watcher : watchers_) {
        const auto& record = *static_cast<const act_ring*>(data);
        watcher->OnRingReady(head.pid, {record.address, record.bytes});
      }
      break;
    case ACT_RING_WAKE:  // its only purpose was to wake the reader
      break;
    case ACT_JOB:
      OnJob(*static_cast<const act_job*>(data));
      break;
    case ACT_WAKE:
      waits_.Append(*static_cast<const act_wake*>(data));
      if (waits_.full()) Send(&waits_);
      break;
    case ACT_STACK:
      if (stacks_ == nullptr || !stacks_->OnStack(*static_cast<const act_stack*>(data))) {
        --out_[type.hop];
        ++bad_[type.hop];
      }
      break;
    case ACT_CALL_STACK:
      OnCallStack(*static_cast<const act_call_stack*>(data));
      break;
    case ACT_PROCESS:
      OnProcess(*static_cast<const act_process*>(data));
      break;
  }
}

void BpfEvents::OnName(const act_name& record) {
  NamesByAddress& names = names_[record.h.pid];
  if (names.size() >= kMaxNamesPerProcess) names.clear();
  names[record.address] = TextOrMemory(record.text, record.h.pid, record.address);
}

void BpfEvents::OnJob(const act_job& record) {
  NoteUse(record.h.pid, record.correlation);
  handler_->OnJobOver(static_cast<int64_t>(record.submit_ns), TimeNs(record.h));
  jobs_.Append(record);
  if (jobs_.full()) Send(&jobs_);
}

void BpfEvents::NoteUse(uint32_t pid, uint64_t correlation) {
  // An id without a count is not that of a library call.
  if (static_cast<uint32_t>(correlation) == 0 || pid == last_user_) return;
  last_user_ = pid;
  for (ProcessWatcher* watcher : watchers_) watcher->OnDriverUse(pid);
}

template <typename Rows>
void BpfEvents::Send(Rows* rows) {
  proto::Packet packet;
  const uint32_t count = rows->Encode(&writer_, packet.mutable_block());
  if (count > 0) {
    handler_->OnBlock(&packet, static_cast<int64_t>(packet.block().first()), count, count);
  }
}

void BpfEvents::Flush() {
  Send(&jobs_);
  Send(&waits_);
  if (stacks_ != nullptr) stacks_->Flush();
}

void BpfEvents::OnCallStack(const act_call_stack& record) {
  if (stacks_ != nullptr && stacks_->OnCall(record)) return;
  --out_[ACT_HOP_STACK];
  ++unknown_stacks_;
  auto& [first_ns, last_ns] = unknown_span_ns_;
  const int64_t time_ns = TimeNs(record.h);
  first_ns = first_ns == 0 ? time_ns : std::min(first_ns, time_ns);
  last_ns = std::max(last_ns, time_ns);
}

void BpfEvents::OnProcess(const act_process& record) {
  const uint64_t thread = ThreadOf(record.h);
  switch (record.h.extra) {
    case ACT_PROCESS_LEFT:
      for (ProcessWatcher* watcher : watchers_) watcher->OnLeft(record.h.pid, TimeNs(record.h));
      ReportFate(record, proto::ProcessEvents::KIND_LEFT);
      return;
    case ACT_PROCESS_EXIT:
      for (ProcessWatcher* watcher : watchers_) watcher->OnExit(record.h.pid, record.h.tid);
      ReportFate(record, proto::ProcessEvents::KIND_ENDED);
      threads_.erase(thread);
      if (calls_ != nullptr) calls_->Ended(thread, TimeNs(record.h));
      if (last_thread_ == thread) last_thread_ = 0;
      if (last_submitter_ == thread) last_submitter_ = 0;
      if (record.h.pid == record.h.tid) names_.erase(record.h.pid);
      return;
    case ACT_PROCESS_SEEN:
      ReportFate(record, proto::ProcessEvents::KIND_SEEN);
      break;
    case ACT_PROCESS_FORK:
      ReportFate(record, proto::ProcessEvents::KIND_BEGUN);
      // A child inherits its parent's memory, and so the names in it.
      if (record.h.pid != record.parent) {
        const auto parent = names_.find(record.parent);
        if (parent != names_.end()) names_[record.h.pid] = NamesByAddress(parent->second);
      }
      break;
    case ACT_PROCESS_EXEC:
      for (ProcessWatcher* watcher : watchers_) watcher->OnExec(record.h.pid);
      ReportFate(record, proto::ProcessEvents::KIND_EXECUTED);
      if (last_user_ == record.h.pid) last_user_ = 0;  // it may use another library now
      names_.erase(record.h.pid);
      if (stacks_ != nullptr) stacks_->OnExec(record.h.pid);
      break;
    default:
      break;
  }
  ReportName(record.h.pid, record.h.tid, handler_->Intern(Text(record.comm)));
}

void BpfEvents::ReportFate(const act_process& record, uint32_t kind) {
  ProcessEvent event = {TimeNs(record.h), kind, record.h.pid, record.h.tid, 0};
  if (kind == proto::ProcessEvents::KIND_BEGUN) event.parent = record.parent;
  handler_->OnProcessEvent(event);
}

void BpfEvents::ReportName(uint32_t pid, uint32_t tid, uint32_t name) {
  if (threads_.size() >= kMaxThreads) threads_.clear();
  const auto [entry, fresh] = threads_.try_emplace(uint64_t{pid} << 32 | tid, name);
  if (!fresh && entry->second == name) return;
  entry->second = name;
  handler_->OnProcess(pid, tid, name);
}

void BpfEvents::NoteExisting(uint32_t pid) {
  for (const auto& [tid, name] : ThreadNames(pid)) ReportName(pid, tid, handler_->Intern(name));
}

void BpfEvents::NoteThread(uint32_t pid, uint32_t tid) {
  const uint64_t thread = uint64_t{pid} << 32 | tid;
  if (thread == last_thread_) return;
  last_thread_ = thread;
  if (callers_.size() < kMaxThreads) callers_.insert(pid);
  ReportThread(pid, tid);
}

void BpfEvents::NoteSubmitter(uint32_t pid, uint32_t tid) {
  const uint64_t thread = uint64_t{pid} << 32 | tid;
  if (std::exchange(last_submitter_, thread) != thread) ReportThread(pid, tid);
}

void BpfEvents::ReportThread(uint32_t pid, uint32_t tid) {
  if (threads_.count(uint64_t{pid} << 32 | tid) != 0) return;
  // Jobs arrive by another ring than thread ends: a thread that is gone was named when it was seen.
  const std::string name = ThreadName(pid, tid);
  if (!name.empty()) return ReportName(pid, tid, handler_->Intern(name));
  // A process's rings may refer to any number of nonexistent threads: each is looked up only once.
  if (threads_.size() >= kMaxThreads) threads_.clear();
  threads_.emplace(uint64_t{pid} << 32 | tid, 0);
}

uint32_t BpfEvents::TextOrMemory(const char* text, uint32_t pid, uint64_t address) {
  const size_t length = strnlen(text, ACT_NAME_BYTES);
  if (length > 0) return handler_->Intern({text, length});
  const std::string read = memory_.ReadString(pid, address, ACT_NAME_BYTES - 1);
  if (!read.empty()) return handler_->Intern(read);
  char unknown[32];
  snprintf(unknown, sizeof(unknown), "?@0x%llx", static_cast<unsigned long long>(address));
  return handler_->Intern(unknown);
}

void BpfEvents::NameFunction(uint32_t index, const std::string& name) {
  functions_[index] = handler_->Intern(name);
}

uint32_t BpfEvents::NameAt(uint32_t pid, uint64_t address) {
  if (address >= ACT_FUNCTION_NAMES && address < ACT_FUNCTION_NAMES + ACT_MAX_FUNCTIONS) {
    return functions_[address - ACT_FUNCTION_NAMES];
  }
  NamesByAddress& names = names_[pid];
  const auto found = names.find(address);
  if (found != names.end()) return found->second;
  // The name's record was lost, or the process was recorded only later.
  if (names.size() >= kMaxNamesPerProcess) names.clear();
  return names[address] = TextOrMemory("", pid, address);
}

}  // namespace acceltrace::daemon
