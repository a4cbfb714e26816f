// SPDX-License-Identifier: Apache-2.0
//
// The events that sources produce, and the interface that receives them. They are the same for
// every kind of accelerator: a source translates what its driver and its device write.
#ifndef DAEMON_SOURCES_COMMON_EVENTS_H_
#define DAEMON_SOURCES_COMMON_EVENTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"

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
  uint32_t name = 0;  // the same as at its begin
};

struct RangePush {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, name = 0, depth = 0;
};

struct RangePop {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, depth = 0;
};

// A change of a process or of one of its threads.
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

// The following structs are reports of devices. Ticks are raw values of the device's clock; units,
// stalls and counters are numbered as in the Device packet.

// A command that a device has executed.
struct DeviceCommand {
  uint32_t unit = 0, queue = 0;
  uint64_t fetched_ticks = 0, head_ticks = 0, end_ticks = 0;
  uint64_t bytes = 0;
  bool failed = false;
  std::span<const uint32_t> stall_ticks = {};
};

struct DeviceEvent {
  uint32_t kind = 0;    // proto::DeviceEventBatch::Kind
  uint32_t record = 0;  // its number in the device's ring
  uint64_t ticks = 0, arg0 = 0, arg1 = 0, arg2 = 0;
};

// Some counters of a snapshot that the device took itself.
struct CounterPart {
  uint64_t ticks = 0;
  uint32_t snapshot = 0;  // its number
  uint32_t first = 0;     // counter of values[0]
  std::span<const uint64_t> values = {};
};

// A snapshot of all counters. If it was read through the driver, it has the host's times around it.
struct CounterSnapshot {
  uint64_t ticks = 0;
  int64_t host_before_ns = 0, host_after_ns = 0;
  std::vector<uint64_t> values = {};
};

// The device's clock between two readings of the host's clock and of its TSC.
struct ClockSample {
  int64_t host_before_ns = 0, host_after_ns = 0;
  uint64_t device_ticks = 0;
  uint64_t tsc_before = 0, tsc_after = 0;
  // Both clocks at the same instant, measured by the bus (PTM); 0 if not available.
  bool has_ptm = false;
  uint64_t ptm_device_ticks = 0, ptm_tsc = 0;
  int64_t ptm_host_ns = 0;
};

struct Loss {
  std::string hop;
  uint64_t count = 0;
  int64_t first = 0, last = 0;  // ticks if in_ticks, else ns
  bool in_ticks = false;
  uint32_t device = 0;
};

// The hop that receives events from the sources; it counts each event once.
inline constexpr const char* kSessionHop = "session";

// For each hop, in = out + lost + bad + waiting.
struct Hop {
  std::string name;
  uint64_t in = 0, out = 0, lost = 0, bad = 0;
  std::string into = {};  // the next hop, if this one is its only input
  uint64_t waiting = 0;   // in progress; only while the recording continues
};

// What one event of a kind costs the thread in which it occurs.
struct EventCost {
  const char* kind = "";  // as in proto::Accounts::EventCost
  double ns = 0, error_ns = 0;
  std::vector<uint32_t> at_kinds = {};  // proto::HostBatch::Kind; empty = all
  // The number of events; if unset, the input of the kind's hops. Called while the source exists.
  std::function<uint64_t()> events = nullptr;
  // The measured mean cost; if unset, `ns` is used. Called while the source exists.
  std::function<double()> each_ns = nullptr;
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;

  virtual uint32_t Intern(std::string_view text) = 0;
  // Only called before the first event.
  virtual void OnProbe(const std::string& name, bool attached, const std::string& reason) = 0;
  virtual void OnDevice(const proto::Device& device) = 0;

  virtual void OnProcess(uint32_t pid, uint32_t tid, uint32_t name) = 0;
  virtual void OnProcessEvent(const ProcessEvent& event) = 0;
  virtual void OnOpName(uint32_t pid, uint32_t tag, uint32_t name) = 0;
  virtual void OnApiBegin(const ApiBegin& event) = 0;
  virtual void OnApiEnd(const ApiEnd& event) = 0;
  // Begin and end at once, for a call that is not nested and has no nested calls.
  virtual void OnApiCall(const ApiBegin& begin, int64_t end_ns, int32_t result) {
    OnApiBegin(begin);
    OnApiEnd({end_ns, begin.pid, begin.tid, result, begin.correlation, begin.name});
  }
  virtual void OnRangePush(const RangePush& event) = 0;
  virtual void OnRangePop(const RangePop& event) = 0;
  virtual void OnMark(const RangePush& event) = 0;
  virtual void OnHost(const HostEvent& event) = 0;
  // Already checked, like all that devices report. Commands and jobs come in blocks.
  virtual void OnDeviceEvent(uint32_t device, const DeviceEvent& event) = 0;
  virtual void OnCounterPart(uint32_t device, const CounterPart& part) = 0;
  // A command of a process that is not recorded; only sums of them are written.
  virtual void OnOthersCommand(uint32_t device, const DeviceCommand& command) = 0;
  // Rows that a source has encoded itself; the packet is consumed. `first_ns` is the earliest host
  // time in it, 0 = none; `events` is its number of events in the accounts.
  virtual void OnBlock(proto::Packet* block, int64_t first_ns, uint32_t rows, uint64_t events) = 0;
  virtual void OnCounters(uint32_t device, const CounterSnapshot& snapshot) = 0;
  virtual void OnClock(uint32_t device, const ClockSample& sample) = 0;
  // The latched device clock with the host's times around it; a snapshot without counters.
  virtual void OnLatch(uint32_t device, const CounterSnapshot& latch) = 0;
  virtual void OnLoss(const Loss& loss) = 0;

  // The result of a calibration, at the start.
  virtual void OnEventCost(const EventCost& cost) { (void)cost; }

  // The driver reported the end of a job, in addition to its row. `submit_ns` 0 = unknown.
  virtual void OnJobOver(int64_t submit_ns, int64_t complete_ns) {
    (void)submit_ns;
    (void)complete_ns;
  }

  // After the last event: the account of a hop, and the tracer's cost in the kernel.
  virtual void OnHop(const Hop& hop) = 0;
  // The largest error of the times of API events from shared memory; 0 if there were none.
  virtual void OnApiBound(uint64_t bound_ns) { (void)bound_ns; }
  // The process used a device, but none of its API calls could be recorded.
  virtual void OnUnseen(uint32_t pid, const std::string& why) {
    (void)pid;
    (void)why;
  }
  virtual void OnBpfCost(uint64_t run_ns, uint64_t runs) = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_EVENTS_H_
