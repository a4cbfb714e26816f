// SPDX-License-Identifier: Apache-2.0
//
// Where events come from, and what they look like on the way to the session.
//
// A source has three functions. Everything it finds goes to an EventHandler,
// in the thread that calls Drain. Of its own it has at most one that only waits (ring_proof.h).
#ifndef DAEMON_SOURCES_SOURCE_H_
#define DAEMON_SOURCES_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kmod/uapi/axl.h"
#include "kmod/uapi/axl_counters.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// Host times are CLOCK_MONOTONIC ns; names are string ids of EventHandler::Intern.
struct ApiBegin {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, name = 0, stream = 0;
  uint64_t correlation = 0, bytes = 0;
};

struct ApiEnd {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0;
  int32_t result = 0;
  uint64_t correlation = 0;
  uint32_t name = 0;  // as of its begin
};

struct RangePush {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, name = 0, depth = 0;
};

struct RangePop {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, depth = 0;
};

// What became of a process or one of its threads.
struct ProcessEvent {
  int64_t time_ns = 0;
  uint32_t kind = 0;  // proto::ProcessEvents::Kind
  uint32_t pid = 0, tid = 0, parent = 0;
};

struct HostEvent {
  int64_t time_ns = 0;
  uint32_t kind = 0;  // proto::HostBatch::Kind
  uint32_t cpu = 0, pid = 0, tid = 0, device = 0, context = 0, queue = 0, job = 0;
  uint64_t sequence = 0, correlation = 0, arg0 = 0, arg1 = 0;
};

// A snapshot of all counters, read through the driver.
struct CounterRow {
  uint64_t ticks = 0;
  int64_t host_before_ns = 0, host_after_ns = 0;
  uint64_t value[AXL_NUM_COUNTERS] = {};
};

struct Loss {
  std::string hop;
  uint64_t count = 0;
  int64_t first = 0, last = 0;  // ticks if in_ticks, else ns
  bool in_ticks = false;
  uint32_t device = 0;
};

// The hop that takes events from the sources: each counts there once.
inline constexpr const char* kSessionHop = "session";

// in = out + lost + bad + waiting.
struct Hop {
  std::string name;
  uint64_t in = 0, out = 0, lost = 0, bad = 0;
  std::string into = {};  // the hop that takes what goes out, if all of that hop's comes so
  uint64_t waiting = 0;   // while the recording goes on: under way
};

// What one event of a kind costs the thread that it happens to.
struct EventCost {
  const char* kind = "";  // as in proto::Accounts::EventCost
  double ns = 0, error_ns = 0;
  std::vector<uint32_t> at_kinds = {};  // proto::HostBatch::Kind; none = all
  // How many there were; none: what came in at the hops of the kind. Asked while the source lives.
  std::function<uint64_t()> events = nullptr;
  // What one of them took, where each was measured; none: ns. Asked likewise.
  std::function<double()> each_ns = nullptr;
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;

  virtual uint32_t Intern(std::string_view text) = 0;
  // Before the first event only.
  virtual void OnProbe(const std::string& name, bool attached, const std::string& reason) = 0;
  virtual void OnDevice(const proto::Device& device) = 0;

  virtual void OnProcess(uint32_t pid, uint32_t tid, uint32_t name) = 0;
  virtual void OnProcessEvent(const ProcessEvent& event) = 0;
  virtual void OnOpName(uint32_t pid, uint32_t tag, uint32_t name) = 0;
  virtual void OnApiBegin(const ApiBegin& event) = 0;
  virtual void OnApiEnd(const ApiEnd& event) = 0;
  // Both at once, of a call that lies in no other and has none inside.
  virtual void OnApiCall(const ApiBegin& begin, int64_t end_ns, int32_t result) {
    OnApiBegin(begin);
    OnApiEnd({end_ns, begin.pid, begin.tid, result, begin.correlation, begin.name});
  }
  virtual void OnRangePush(const RangePush& event) = 0;
  virtual void OnRangePop(const RangePop& event) = 0;
  virtual void OnMark(const RangePush& event) = 0;
  virtual void OnHost(const HostEvent& event) = 0;
  // Records that are neither commands nor jobs (those come in blocks) nor losses; already checked
  // by daemon/sources/record_check.h.
  virtual void OnRecord(uint32_t device, const axl_record& record) = 0;
  // The same, of a process that is not recorded: only sums of it are.
  virtual void OnOthersRecord(uint32_t device, const axl_record& record) = 0;
  // Rows that a source packed itself; the packet is given away. first_ns: earliest
  // host time in it, 0 = none; events: how many they are in the accounts.
  virtual void OnBlock(proto::Packet* block, int64_t first_ns, uint32_t rows, uint64_t events) = 0;
  virtual void OnCounters(uint32_t device, const CounterRow& row) = 0;
  virtual void OnClock(uint32_t device, const axl_clock_sample& sample) = 0;
  // The device clock as it was latched, bracketed; a row without values.
  virtual void OnLatch(uint32_t device, const CounterRow& row) = 0;
  virtual void OnLoss(const Loss& loss) = 0;

  // What was calibrated, at the start.
  virtual void OnEventCost(const EventCost& cost) { (void)cost; }

  // The driver's word that a job is over, besides its row. submit_ns 0: not known.
  virtual void OnJobOver(int64_t submit_ns, int64_t complete_ns) {
    (void)submit_ns;
    (void)complete_ns;
  }

  // After the last event: the account of one hop, and the tracer's cost in the kernel.
  virtual void OnHop(const Hop& hop) = 0;
  // The process used a device, but none of its API calls could be recorded.
  virtual void OnUnseen(uint32_t pid, const std::string& why) {
    (void)pid;
    (void)why;
  }
  virtual void OnBpfCost(uint64_t run_ns, uint64_t runs) = 0;
};

// When a source wants to be drained again.
struct Pace {
  uint32_t fill_permille = 0;   // how full the fullest buffer was
  int64_t next_ns = INT64_MAX;  // at this time at the latest
};

class Source {
 public:
  virtual ~Source() = default;

  // Sets up and begins to collect; reports its probes and devices to the handler.
  virtual Status Start() = 0;

  // The recording begins now: what came or was lost while others were set up is not its own.
  virtual void Begin() {}

  // Hands over what has arrived.
  virtual Pace Drain(int64_t now_ns) = 0;

  // Notes what waits now; and whether Drain() has handed over all of that since.
  virtual void Mark() {}
  virtual bool PassedMark() { return true; }

  // Takes the samples that the end of a recording needs; the recording goes on.
  virtual void Checkpoint() {}

  // The accounts so far, with what is under way.
  virtual std::vector<Hop> Hops() = 0;

  // Hands over what it holds back to hand over many at once.
  virtual void Flush() {}

  // Ends collection, hands over the rest and closes the accounts (OnHop).
  virtual void Stop() = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SOURCE_H_
