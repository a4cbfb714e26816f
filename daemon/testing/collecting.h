// SPDX-License-Identifier: Apache-2.0
//
// Sinks for the daemon's tests that remember everything.
#ifndef DAEMON_TESTING_COLLECTING_H_
#define DAEMON_TESTING_COLLECTING_H_

#include <map>
#include <string>
#include <vector>

#include "daemon/session/packet_output.h"
#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

// A session's output that keeps every packet.
class CollectingOutput : public PacketOutput {
 public:
  void Write(proto::Packet* packet, int64_t, uint32_t rows) override {
    packets.push_back(*packet);
    total_rows += rows;
  }
  std::vector<const proto::Packet*> Of(proto::Packet::BodyCase body) const {
    std::vector<const proto::Packet*> found;
    for (const proto::Packet& packet : packets) {
      if (packet.body_case() == body) found.push_back(&packet);
    }
    return found;
  }

  std::vector<proto::Packet> packets;
  uint64_t total_rows = 0;
};

// A source's handler that keeps every event.
class CollectingHandler : public EventHandler {
 public:
  uint32_t Intern(std::string_view text) override {
    return ids.emplace(std::string(text), static_cast<uint32_t>(ids.size() + 1)).first->second;
  }
  void OnProbe(const std::string& name, bool, const std::string&) override {
    probes.push_back(name);
  }
  void OnDevice(const proto::Device& device) override { devices.push_back(device); }
  void OnProcess(uint32_t, uint32_t tid, uint32_t name) override { threads[tid] = name; }
  void OnProcessEvent(const ProcessEvent& event) override { process_events.push_back(event); }
  void OnOthersCommand(uint32_t, const DeviceCommand& command) override {
    others.push_back(command);
    others.back().stall_ticks = {};
  }
  void OnOpName(uint32_t, uint32_t tag, uint32_t name) override { op_names[tag] = name; }
  void OnApiBegin(const ApiBegin& event) override { begins.push_back(event); }
  void OnApiEnd(const ApiEnd& event) override { ends.push_back(event); }
  void OnRangePush(const RangePush& event) override { pushes.push_back(event); }
  void OnRangePop(const RangePop& event) override { pops.push_back(event); }
  void OnMark(const RangePush& event) override { marks.push_back(event); }
  void OnHost(const HostEvent& event) override { hosts.push_back(event); }
  void OnDeviceEvent(uint32_t, const DeviceEvent& event) override {
    device_events.push_back(event);
  }
  void OnCounterPart(uint32_t, const CounterPart& part) override {
    counter_parts.push_back(part);
    counter_parts.back().values = {};
  }
  void OnBlock(proto::Packet* block, int64_t, uint32_t, uint64_t) override {
    blocks.push_back(std::move(*block));
  }
  void OnCounters(uint32_t, const CounterSnapshot& row) override { counters.push_back(row); }
  void OnClock(uint32_t, const ClockSample& sample) override { clocks.push_back(sample); }
  void OnLatch(uint32_t, const CounterSnapshot& row) override { latches.push_back(row); }
  void OnLoss(const Loss& loss) override { losses.push_back(loss); }
  void OnHop(const Hop& hop) override { hops.push_back(hop); }
  void OnBpfCost(uint64_t, uint64_t) override {}

  std::map<std::string, uint32_t> ids;
  std::vector<std::string> probes;
  std::vector<proto::Device> devices;
  std::map<uint32_t, uint32_t> threads;
  std::vector<ProcessEvent> process_events;
  std::map<uint32_t, uint32_t> op_names;
  std::vector<ApiBegin> begins;
  std::vector<ApiEnd> ends;
  std::vector<RangePush> pushes, marks;
  std::vector<RangePop> pops;
  std::vector<HostEvent> hosts;
  std::vector<DeviceEvent> device_events;
  std::vector<CounterPart> counter_parts;  // without values
  std::vector<DeviceCommand> others;       // without stalls
  std::vector<proto::Packet> blocks;
  std::vector<CounterSnapshot> counters, latches;
  std::vector<ClockSample> clocks;
  std::vector<Loss> losses;
  std::vector<Hop> hops;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_TESTING_COLLECTING_H_
