// SPDX-License-Identifier: Apache-2.0
//
// Builds small traces for tests from true host times: the builder converts device times to ticks of
// a device clock with known offset, rate and sample width, so that a test knows what a reader must
// find.
#ifndef TESTS_GOLDEN_TRACE_BUILDER_H_
#define TESTS_GOLDEN_TRACE_BUILDER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/model/tables/model.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::test {

// The units of the devices that AddDevice() makes, and their stall causes.
enum Unit { kIn = 0, kOut = 1, kMatrix = 2, kVector = 3 };
enum Stall { kStallSemaphore = 0, kStallMemory = 1, kStallLink = 2, kNumStalls = 3 };

struct ClockSpec {
  uint64_t hz = 1'000'000'000;
  double ppm = 0;
  uint64_t offset_ticks = 5'000'000'000;  // device clock at host time 0
  int64_t sample_width_ns = 400;          // host bracket of a sample
  int64_t sample_period_ns = 100'000;
};

struct CommandSpec {
  Unit unit = kMatrix;
  // True host times in ns.
  int64_t fetched_ns = 0, head_ns = 0, start_ns = 0, end_ns = 0;
  int64_t stall_ns[kNumStalls] = {};  // [kStallSemaphore] is set to start - head
  uint32_t opcode = 0x20;
  uint32_t limiter = 0;
  uint32_t tag = 0;
  uint32_t status = 0;
  uint64_t work = 0, bytes = 0, memory_bytes = 0;
  uint32_t row_hits = 0, row_misses = 0;
};

struct JobSpec {
  uint32_t device = 0, context = 1, queue = 0, job = 1;
  uint64_t sequence = 1, correlation = 1;
  uint32_t pid = 100, tid = 100;
  // True host times in ns; 0 = did not happen.
  int64_t submit_ns = 0, doorbell_ns = 0, submit_end_ns = 0;
  int64_t device_doorbell_ns = 0, fetched_ns = 0, completion_ns = 0, device_irq_ns = 0;
  int64_t irq_ns = 0, complete_ns = 0, wait_ns = 0, wake_ns = 0;
  uint64_t wait_correlation = 0;
  uint32_t status = 0;
  bool others = false;  // of a process that is not recorded: sums of its commands only
  std::vector<CommandSpec> commands;
};

// Job `number` of process 100, submitted 1 us after `call_ns` and fetched at 3 us, complete on the
// host 2 us after the device's `completion_ns`. It has no commands.
JobSpec JobOfCall(int64_t call_ns, uint32_t number, int64_t completion_ns);

// The bytes of a file of these packets, except one that is lost.
std::string Encode(std::vector<proto::Packet> packets, size_t left_out = SIZE_MAX);
// The same, loaded.
std::unique_ptr<model::Model> LoadPackets(std::vector<proto::Packet> packets,
                                          size_t left_out = SIZE_MAX);

class TraceBuilder {
 public:
  TraceBuilder();

  // Returns the device's number. The link is generation 3 x4.
  uint32_t AddDevice(const ClockSpec& clock = {});
  void AddProcess(uint32_t pid, uint32_t tid, const std::string& name);
  void AddOpName(uint32_t pid, uint32_t tag, const std::string& name);
  void AddApi(const std::string& name, uint32_t pid, uint64_t correlation, int64_t begin_ns,
              int64_t end_ns, uint64_t bytes = 0);
  // Adds a stack of places in files, innermost first; returns its number.
  uint32_t AddStack(const std::vector<std::pair<std::string, uint64_t>>& frames);
  void AddCallStack(uint64_t correlation, int64_t begin_ns, uint32_t stack);
  void AddRange(const std::string& name, uint32_t pid, int64_t begin_ns, int64_t end_ns,
                uint32_t depth = 0);
  void AddMark(const std::string& name, uint32_t pid, int64_t time_ns);
  void AddJob(const JobSpec& job);
  // Adds an event of a process, of a kind of proto::ProcessEvents.
  void AddProcessEvent(proto::ProcessEvents::Kind kind, int64_t time_ns, uint32_t pid, uint32_t tid,
                       uint32_t parent = 0);
  // Puts the process into a control group from that time on.
  void AddGroup(uint32_t pid, int64_t time_ns, const std::string& group);
  // Adds a snapshot of counters at a true host time, in the order of the device's description: for
  // each unit busy, idle, one value per stall, commands; then elapsed, in_bytes, out_bytes.
  void AddCounters(uint32_t device, int64_t time_ns, const std::vector<uint64_t>& values);
  // Adds the values that conservation requires after the jobs so far.
  void AddTrueCounters(uint32_t device, int64_t time_ns);
  void AddLoss(const std::string& hop, uint64_t count, int64_t first_ns, int64_t last_ns);
  void AddHop(const std::string& name, uint64_t in, uint64_t out, uint64_t lost, uint64_t bad,
              const std::string& into = "");

  // Device ticks at a true host time.
  uint64_t Ticks(uint32_t device, int64_t host_ns) const;
  // A command's stalls in whole ticks; each is at most one too large and less than two too small
  // (docs/device-counters.md).
  std::array<uint64_t, kNumStalls> StallTicks(uint32_t device, const CommandSpec& command) const;
  static size_t NumCounters();

  proto::TraceInfo* info() { return &info_; }
  proto::Accounts* accounts() { return &accounts_; }
  proto::Device* device(uint32_t number) { return &devices_[number].about; }

  // Packets in the order in which a daemon would send them, with clock samples over the whole span
  // of events.
  std::vector<proto::Packet> Packets();
  // The bytes of a file.
  std::string Bytes();
  // The bytes read back.
  std::unique_ptr<model::Model> Model();

 private:
  struct DeviceState {
    proto::Device about;
    ClockSpec clock;
    std::vector<std::pair<int64_t, std::vector<uint64_t>>> counters;
  };
  struct HostRow {
    int64_t time_ns;
    proto::HostBatch::Kind kind;
    const JobSpec* job;
    uint64_t arg0, arg1, correlation;
  };

  uint32_t Intern(const std::string& text);
  void See(int64_t time_ns);
  void AddHostPacket(std::vector<proto::Packet>* packets);
  void AddDevicePackets(std::vector<proto::Packet>* packets);
  void AddOthersPackets(std::vector<proto::Packet>* packets);
  void AddClockPackets(std::vector<proto::Packet>* packets);

  proto::TraceInfo info_;
  proto::Accounts accounts_;
  proto::Strings strings_;
  proto::Processes processes_;
  proto::OpNames op_names_;
  proto::ApiBatch api_;
  proto::StackFrames stack_frames_;
  proto::CallStacks call_stacks_;
  uint32_t last_stack_ = 0;
  int64_t last_call_stack_ns_ = 0;
  uint64_t last_call_stack_ = 0;
  proto::RangeBatch ranges_;
  proto::LossBatch losses_;
  proto::ProcessEvents process_events_;
  proto::ProcessGroups groups_;
  int64_t last_process_event_ns_ = 0, last_group_ns_ = 0;
  std::vector<DeviceState> devices_;
  std::vector<std::unique_ptr<JobSpec>> jobs_;
  std::map<std::string, uint32_t> ids_;
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
  int64_t last_api_ns_ = 0, last_range_ns_ = 0;
  uint64_t last_correlation_ = 0;
};

}  // namespace acceltrace::test

#endif  // TESTS_GOLDEN_TRACE_BUILDER_H_
