// SPDX-License-Identifier: Apache-2.0
//
// Turns records of the BPF ring into events: checks each record and resolves its names. Does not
// use libbpf.
#ifndef DAEMON_SOURCES_BPF_BPF_EVENTS_H_
#define DAEMON_SOURCES_BPF_BPF_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/sources/api/api_ring_memory.h"
#include "daemon/sources/bpf/call_stacks.h"
#include "daemon/sources/bpf/memory_reader.h"
#include "daemon/sources/bpf/thread_calls.h"
#include "daemon/sources/common/host_rows.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

// Is told about changes of processes before the event handler.
class ProcessWatcher {
 public:
  virtual ~ProcessWatcher() = default;
  virtual void OnRingReady(uint32_t /*pid*/, const SegmentPlace&) {}
  virtual void OnExec(uint32_t /*pid*/) {}
  // It uses a device; may be called more than once.
  virtual void OnDriverUse(uint32_t /*pid*/) {}
  virtual void OnExit(uint32_t /*pid*/, uint32_t /*tid*/) {}
  // It is no longer recorded, as it runs as another user.
  virtual void OnLeft(uint32_t /*pid*/, int64_t /*time_ns*/) {}
};

class BpfEvents {
 public:
  explicit BpfEvents(EventHandler* handler) : handler_(handler) {}

  // The watcher must outlive this object.
  void AddWatcher(ProcessWatcher* watcher) { watchers_.push_back(watcher); }

  // Handles one record from the ring, aligned to 8 bytes.
  void Handle(const void* data, size_t bytes);

  // Passes stacks of API calls to `stacks`, which must outlive this object.
  void UseStacks(CallStacks* stacks) { stacks_ = stacks; }
  // Passes begins and ends of calls to `calls`, which must outlive this object.
  void UseCalls(ThreadCalls* calls) { calls_ = calls; }
  // The number of calls whose stack is unknown, as its frames were lost or there are too many
  // stacks.
  uint64_t unknown_stacks() const { return unknown_stacks_; }
  // The times of the first and the last of them since the last call of this; 0 if there were none.
  std::pair<int64_t, int64_t> TakeUnknownSpan() { return std::exchange(unknown_span_ns_, {0, 0}); }

  // Names entry `index` of the map `functions`.
  void NameFunction(uint32_t index, const std::string& name);

  // Passes on incomplete blocks.
  void Flush();

  // A process uses the driver; `correlation` is the id that its library gave one of its jobs.
  void NoteUse(uint32_t pid, uint64_t correlation);

  // Reads the thread names of a process that existed before from /proc.
  void NoteExisting(uint32_t pid);

  // Reports a thread's name unless it was reported before.
  void NoteThread(uint32_t pid, uint32_t tid);

  // A thread has submitted to a device. Kernel threads are only reported here.
  void NoteSubmitter(uint32_t pid, uint32_t tid);

  // Returns true if the library's probes have reported events of this process.
  bool SawCalls(uint32_t pid) const { return callers_.count(pid) != 0; }

  // The numbers of accepted and of refused records, by hop.
  uint64_t out(act_hop hop) const { return out_[hop]; }
  uint64_t bad(act_hop hop) const { return bad_[hop]; }

 private:
  using NamesByAddress = std::unordered_map<uint64_t, uint32_t>;

  void OnName(const act_name& record);
  void OnJob(const act_job& record);
  void OnProcess(const act_process& record);
  void ReportFate(const act_process& record, uint32_t kind);
  void OnCallStack(const act_call_stack& record);
  uint32_t NameAt(uint32_t pid, uint64_t address);
  uint32_t TextOrMemory(const char* text, uint32_t pid, uint64_t address);
  void ReportThread(uint32_t pid, uint32_t tid);
  void ReportName(uint32_t pid, uint32_t tid, uint32_t name);

  template <typename Rows>
  void Send(Rows* rows);

  EventHandler* handler_;
  std::vector<ProcessWatcher*> watchers_;
  CallStacks* stacks_ = nullptr;
  ThreadCalls* calls_ = nullptr;
  uint64_t unknown_stacks_ = 0;
  std::pair<int64_t, int64_t> unknown_span_ns_ = {0, 0};
  MemoryReader memory_;
  stream::BlockWriter writer_;
  HostJobRows jobs_;
  HostWaitRows waits_;
  uint32_t functions_[ACT_MAX_FUNCTIONS] = {};  // interned names
  std::unordered_map<uint32_t, NamesByAddress> names_;
  std::unordered_map<uint64_t, uint32_t> threads_;  // pid << 32 | tid to the name last reported
  uint64_t last_thread_ = 0;
  uint64_t last_submitter_ = 0;  // the same for jobs of providers
  std::unordered_set<uint32_t> callers_;
  uint32_t last_user_ = 0;  // the last user of the driver
  uint64_t out_[ACT_NUM_HOPS] = {};
  uint64_t bad_[ACT_NUM_HOPS] = {};
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_EVENTS_H_
