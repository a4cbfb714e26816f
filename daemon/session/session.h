// SPDX-License-Identifier: Apache-2.0
//
// One recording: turns events into packets.
//
// Strings, processes and op names are written before the first batch that uses them. A batch is
// written when it is full, or at Flush. The session keeps an account: every event that it received
// is in a packet, counted as lost, or counted as bad.
#ifndef DAEMON_SESSION_SESSION_H_
#define DAEMON_SESSION_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/session/batches.h"
#include "daemon/session/counter_assembler.h"
#include "daemon/session/packet_output.h"
#include "daemon/session/spans.h"
#include "daemon/session/triggers.h"
#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

// How a recording ended.
struct StopInfo {
  int64_t stop_ns = 0;
  std::string reason;
  int32_t command_status = -1;  // -1 if there was no command
  uint64_t cpu_ns = 0;          // the tracer's own
  uint64_t bytes_written = 0;
  uint64_t overwritten_rows = 0;      // in the flight recorder
  int64_t whole_since_ns = 0;         // nothing was overwritten since; 0 = since the start
  uint64_t bpf_ns = 0, bpf_runs = 0;  // of a snapshot
};

class Session : public EventHandler {
 public:
  // output must outlive the session.
  explicit Session(PacketOutput* output);

  // Writes the first packets. `info` has everything except the probes, which the sources reported.
  void Begin(proto::TraceInfo info);
  // From now on, the rules are applied to jobs and ranges.
  void Watch(std::vector<TriggerRule> rules);
  Triggers* triggers() { return triggers_ ? &*triggers_ : nullptr; }

  // Writes what has been collected.
  void Flush();

  // Closes what is open and writes the rest. The sources must be stopped before.
  void Finish(int64_t now_ns);
  // Writes the last packet before the footer. `cost` is what the recorder knows of its own cost.
  void WriteAccounts(const StopInfo& stop, const proto::Accounts& cost = {});

  // Returns what a snapshot needs in addition to the packets that were written, after Flush: what
  // is in progress now, and the accounts. The session continues. `sources` are their current hops.
  std::vector<proto::Packet> Checkpoint(const StopInfo& stop, std::vector<Hop> sources);

  uint64_t events() const { return in_; }
  uint64_t lost() const;
  uint64_t bad() const;
  uint64_t bpf_ns() const { return bpf_ns_; }
  // The number of processes that are recorded now.
  size_t processes() const { return since_ns_.size(); }
  const std::vector<Hop>& hops() const { return hops_; }
  const std::vector<proto::Probe>& probes() const { return probes_; }

  uint32_t Intern(std::string_view text) override;
  void OnProbe(const std::string& name, bool attached, const std::string& reason) override;
  void OnDevice(const proto::Device& device) override;
  void OnProcess(uint32_t pid, uint32_t tid, uint32_t name) override;
  void OnProcessEvent(const ProcessEvent& event) override;
  void OnOpName(uint32_t pid, uint32_t tag, uint32_t name) override;
  void OnApiBegin(const ApiBegin& event) override;
  void OnApiEnd(const ApiEnd& event) override;
  void OnApiCall(const ApiBegin& begin, int64_t end_ns, int32_t result) override;
  void OnRangePush(const RangePush& event) override;
  void OnRangePop(const RangePop& event) override;
  void OnMark(const RangePush& event) override;
  void OnHost(const HostEvent& event) override;
  void OnDeviceEvent(uint32_t device, const DeviceEvent& event) override;
  void OnCounterPart(uint32_t device, const CounterPart& part) override;
  void OnOthersCommand(uint32_t device, const DeviceCommand& command) override;
  void OnBlock(proto::Packet* block, int64_t first_ns, uint32_t rows, uint64_t events) override;
  void OnCounters(uint32_t device, const CounterSnapshot& snapshot) override;
  void OnClock(uint32_t device, const ClockSample& sample) override;
  void OnLatch(uint32_t device, const CounterSnapshot& latch) override;
  void OnLoss(const Loss& loss) override;
  void OnHop(const Hop& hop) override;
  void OnApiBound(uint64_t bound_ns) override { api_bound_ns_ = bound_ns; }
  void OnUnseen(uint32_t pid, const std::string& why) override { unseen_.emplace_back(pid, why); }
  void OnBpfCost(uint64_t run_ns, uint64_t runs) override;
  void OnJobOver(int64_t submit_ns, int64_t complete_ns) override {
    if (triggers_) triggers_->OnJob(submit_ns, complete_ns);
  }
  void OnEventCost(const EventCost& cost) override { event_costs_.push_back(cost); }

 private:
  // Finds a text without a copy of it.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Everything collected for one device.
  struct Device {
    explicit Device(const proto::Device& device);
    DeviceEventBatch events;
    OthersBatch others;
    CounterBatch sampled;  // by the device itself
    CounterBatch read;     // through the driver
    CounterBatch latches;  // only for the time of the latch
    ClockBatch clocks;
    CounterAssembler assembler;
  };

  template <typename B>
  void SendIfFull(B* batch);
  template <typename B>
  void Send(B* batch);
  void SendTables();
  proto::Packet AccountsPacket(const StopInfo& stop, const std::vector<Hop>& hops,
                               const proto::Accounts& cost = {}) const;
  int64_t Since(uint32_t pid) const;
  int64_t CallsSince(uint32_t pid) const;
  bool CallsSeenAt(const ProcessEvent& event) const;
  void SendLosses();
  Device* FindDevice(uint32_t number);

  PacketOutput* output_;
  bool begun_ = false;
  std::vector<proto::Probe> probes_;
  std::vector<proto::Device> devices_before_begin_;

  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> strings_;
  proto::Packet new_strings_;
  size_t new_string_bytes_ = 0;
  proto::Packet new_processes_;
  proto::Packet new_op_names_;
  std::vector<Loss> losses_;

  ApiBatch api_;
  RangeBatch ranges_;
  HostBatch host_;
  ProcessEventBatch process_events_;
  int64_t start_ns_ = 0;
  std::unordered_map<uint32_t, int64_t> since_ns_;        // by pid: when its recording began
  std::unordered_map<uint32_t, int64_t> calls_since_ns_;  // of processes recorded before
  std::map<uint32_t, Device> devices_;
  ApiPairer api_pairer_;
  RangePairer range_pairer_;
  std::optional<Triggers> triggers_;

  // The session's own account, in events.
  uint64_t in_ = 0;
  uint64_t out_ = 0;
  uint64_t bad_ = 0;
  std::vector<Hop> hops_;
  std::vector<std::pair<uint32_t, std::string>> unseen_;
  uint64_t bpf_ns_ = 0;
  uint64_t bpf_runs_ = 0;
  uint64_t api_bound_ns_ = 0;
  std::vector<EventCost> event_costs_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_SESSION_H_
