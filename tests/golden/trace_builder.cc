// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/trace_builder.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/writer.h"

namespace acceltrace::test {

using proto::HostBatch;

namespace {

constexpr const char* kUnitNames[] = {"in", "out", "matrix", "vector"};
constexpr const char* kStallNames[] = {"semaphore", "memory", "link"};
constexpr size_t kPerUnit = 2 + kNumStalls + 1;  // busy, idle, stalls, commands

void DescribeVocabulary(proto::Device* about) {
  const proto::Unit::Kind kinds[] = {proto::Unit::KIND_DMA_TO_DEVICE,
                                     proto::Unit::KIND_DMA_FROM_DEVICE, proto::Unit::KIND_MATRIX,
                                     proto::Unit::KIND_VECTOR};
  for (int u = 0; u < 4; ++u) {
    proto::Unit* unit = about->add_units();
    unit->set_name(kUnitNames[u]);
    unit->set_kind(kinds[u]);
    unit->set_work_unit(u == kMatrix ? "MAC" : u == kVector ? "element" : "TLP");
    if (u == kMatrix) unit->set_peak_work_per_s(1e12);
    const auto counter = [&](const std::string& name, const char* of) {
      proto::Counter* added = about->add_counters();
      added->set_name(std::string(kUnitNames[u]) + "_" + name);
      added->set_unit(of);
      added->set_unit_index(u);
    };
    counter("busy", "ticks");
    counter("idle", "ticks");
    for (const char* stall : kStallNames) counter(std::string("stall_") + stall, "ticks");
    counter("commands", "count");
  }
  const char* const device_counters[][2] = {
      {"elapsed_ticks", "ticks"}, {"in_bytes", "bytes"}, {"out_bytes", "bytes"}};
  for (const auto& [name, of] : device_counters) {
    proto::Counter* added = about->add_counters();
    added->set_name(name);
    added->set_unit(of);
    added->set_unit_index(-1);
  }
  for (const char* stall : kStallNames) about->add_stalls(stall);
  for (const char* limiter : {"compute", "semaphore", "memory", "link"}) {
    about->add_limiters(limiter);
  }
  for (const char* status : {"ok", "failed"}) about->add_statuses(status);
  const std::pair<uint32_t, const char*> opcodes[] = {
      {0x10, "copy-in"}, {0x11, "copy-out"}, {0x20, "matmul"}, {0x40, "add"}};
  for (const auto& [code, name] : opcodes) {
    proto::Opcode* opcode = about->add_opcodes();
    opcode->set_code(code);
    opcode->set_name(name);
  }
}

}  // namespace

TraceBuilder::TraceBuilder() {
  info_.set_schema_version(1);
  info_.set_tool_version("0.1");
  info_.set_host("testhost");
  info_.set_kernel("6.1.0");
  info_.set_cpu("Test CPU");
  info_.set_num_cpus(2);
  proto::Probe* probe = info_.add_probes();
  probe->set_name("tp:submit");
  probe->set_attached(true);
  accounts_.set_command_status(-1);
  accounts_.set_stop_reason("client");
}

size_t TraceBuilder::NumCounters() { return 4 * kPerUnit + 3; }

uint32_t TraceBuilder::AddDevice(const ClockSpec& clock) {
  DeviceState& state = devices_.emplace_back();
  const uint32_t number = static_cast<uint32_t>(devices_.size() - 1);
  state.clock = clock;
  proto::Device& about = state.about;
  about.set_device(number);
  about.set_name("acc" + std::to_string(number));
  about.set_driver("testdriver");
  about.set_model("test accelerator");
  proto::Pci* pci = about.mutable_pci();
  pci->set_address("0000:00:0" + std::to_string(4 + number) + ".0");
  pci->set_link_speed(3), pci->set_link_width(4);
  pci->set_link_speed_max(3), pci->set_link_width_max(4);
  pci->set_max_payload_bytes(256), pci->set_max_read_request_bytes(512);
  pci->set_numa_node(-1);
  about.mutable_clock()->set_nominal_hz(clock.hz);
  about.mutable_clock()->set_bits(64);
  about.set_memory_bytes(1 << 30);
  about.set_memory_bytes_per_s(100'000'000'000);
  about.set_num_queues(4);
  about.set_num_contexts(2);
  DescribeVocabulary(&about);
  return number;
}

uint64_t TraceBuilder::Ticks(uint32_t device, int64_t host_ns) const {
  const ClockSpec& clock = devices_[device].clock;
  const long double rate = static_cast<long double>(clock.hz) / 1e9L * (1.0L + clock.ppm * 1e-6L);
  // Times may be before the clock's zero.
  const auto ticks = static_cast<int64_t>(std::floor(rate * host_ns));
  return clock.offset_ticks + static_cast<uint64_t>(ticks);
}

std::array<uint64_t, kNumStalls> TraceBuilder::StallTicks(uint32_t device,
                                                          const CommandSpec& command) const {
  const ClockSpec& clock = devices_[device].clock;
  const double rate = static_cast<double>(clock.hz) / 1e9 * (1 + clock.ppm * 1e-6);
  std::array<uint64_t, kNumStalls> ticks{};
  ticks[kStallSemaphore] = Ticks(device, command.start_ns) - Ticks(device, command.head_ns);
  uint64_t left = Ticks(device, command.end_ns) - Ticks(device, command.start_ns);
  int64_t busy_ns = command.end_ns - command.start_ns;
  for (int s = kStallSemaphore + 1; s < kNumStalls; ++s) {
    ticks[s] = std::min(left, Ticks(device, command.stall_ns[s]) - Ticks(device, 0));
    left -= ticks[s];
    busy_ns -= command.stall_ns[s];
  }
  // Returns the ticks that rounding took from the stalls to them, not to the unit's own time.
  for (int s = kStallSemaphore + 1; s < kNumStalls; ++s) {
    if (static_cast<double>(left) <= static_cast<double>(busy_ns) * rate + 1) break;
    if (command.stall_ns[s] == 0) continue;
    ++ticks[s];
    --left;
  }
  return ticks;
}

void TraceBuilder::See(int64_t time_ns) {
  first_ns_ = std::min(first_ns_, time_ns);
  last_ns_ = std::max(last_ns_, time_ns);
}

uint32_t TraceBuilder::Intern(const std::string& text) {
  const auto [where, fresh] = ids_.emplace(text, static_cast<uint32_t>(ids_.size() + 1));
  if (fresh) {
    strings_.add_id(where->second);
    strings_.add_value(text);
  }
  return where->second;
}

void TraceBuilder::AddProcess(uint32_t pid, uint32_t tid, const std::string& name) {
  processes_.add_pid(pid);
  processes_.add_tid(tid);
  processes_.add_name(Intern(name));
}

void TraceBuilder::AddOpName(uint32_t pid, uint32_t tag, const std::string& name) {
  op_names_.add_pid(pid);
  op_names_.add_tag(tag);
  op_names_.add_name(Intern(name));
}

void TraceBuilder::AddApi(const std::string& name, uint32_t pid, uint64_t correlation,
                          int64_t begin_ns, int64_t end_ns, uint64_t bytes) {
  See(begin_ns), See(end_ns);
  api_.add_begin_ns_delta(begin_ns - last_api_ns_);
  last_api_ns_ = begin_ns;
  api_.add_duration_ns(static_cast<uint64_t>(end_ns - begin_ns));
  api_.add_pid(pid);
  api_.add_tid(pid);
  api_.add_name(Intern(name));
  api_.add_correlation_delta(static_cast<int64_t>(correlation - last_correlation_));
  last_correlation_ = correlation;
  api_.add_bytes(bytes);
  api_.add_stream(0);
  api_.add_result(0);
  api_.add_open(0);
}

uint32_t TraceBuilder::AddStack(const std::vector<std::pair<std::string, uint64_t>>& frames) {
  ++last_stack_;
  for (size_t place = 0; place < frames.size(); ++place) {
    stack_frames_.add_stack(last_stack_);
    stack_frames_.add_place(static_cast<uint32_t>(place));
    stack_frames_.add_object(Intern(frames[place].first));
    stack_frames_.add_build_id(0);
    stack_frames_.add_offset(frames[place].second);
  }
  return last_stack_;
}

void TraceBuilder::AddCallStack(uint64_t correlation, int64_t begin_ns, uint32_t stack) {
  call_stacks_.add_time_ns_delta(begin_ns - std::exchange(last_call_stack_ns_, begin_ns));
  call_stacks_.add_correlation_delta(
      static_cast<int64_t>(correlation - std::exchange(last_call_stack_, correlation)));
  call_stacks_.add_stack(stack);
}

void TraceBuilder::AddRange(const std::string& name, uint32_t pid, int64_t begin_ns, int64_t end_ns,
                            uint32_t depth) {
  See(begin_ns), See(end_ns);
  ranges_.add_begin_ns_delta(begin_ns - last_range_ns_);
  last_range_ns_ = begin_ns;
  ranges_.add_duration_ns(static_cast<uint64_t>(end_ns - begin_ns));
  ranges_.add_pid(pid);
  ranges_.add_tid(pid);
  ranges_.add_name(Intern(name));
  ranges_.add_depth(depth);
  ranges_.add_mark(0);
  ranges_.add_open(0);
}

void TraceBuilder::AddMark(const std::string& name, uint32_t pid, int64_t time_ns) {
  AddRange(name, pid, time_ns, time_ns);
  ranges_.set_mark(ranges_.mark_size() - 1, 1);
}

void TraceBuilder::AddJob(const JobSpec& job) {
  auto copy = std::make_unique<JobSpec>(job);
  for (CommandSpec& command : copy->commands) {
    command.stall_ns[kStallSemaphore] = command.start_ns - command.head_ns;
    See(command.fetched_ns), See(command.end_ns);
  }
  for (int64_t time : {job.submit_ns, job.completion_ns, job.wake_ns, job.complete_ns}) {
    if (time != 0) See(time);
  }
  jobs_.push_back(std::move(copy));
}

void TraceBuilder::AddProcessEvent(proto::ProcessEvents::Kind kind, int64_t time_ns, uint32_t pid,
                                   uint32_t tid, uint32_t parent) {
  process_events_.add_kind(kind);
  process_events_.add_time_ns_delta(time_ns - last_process_event_ns_);
  last_process_event_ns_ = time_ns;
  process_events_.add_pid(pid);
  process_events_.add_tid(tid);
  process_events_.add_parent(parent);
}

void TraceBuilder::AddGroup(uint32_t pid, int64_t time_ns, const std::string& group) {
  groups_.add_time_ns_delta(time_ns - std::exchange(last_group_ns_, time_ns));
  groups_.add_pid(pid);
  groups_.add_group(Intern(group));
}

void TraceBuilder::AddCounters(uint32_t device, int64_t time_ns,
                               const std::vector<uint64_t>& values) {
  assert(values.size() == NumCounters());
  See(time_ns);
  devices_[device].counters.emplace_back(time_ns, values);
}

void TraceBuilder::AddTrueCounters(uint32_t device, int64_t time_ns) {
  std::vector<uint64_t> values(NumCounters());
  const auto ticks = [&](int64_t a, int64_t b) { return Ticks(device, b) - Ticks(device, a); };
  uint64_t in_bytes = 0, out_bytes = 0;
  for (const auto& job : jobs_) {
    if (job->device != device) continue;
    for (const CommandSpec& command : job->commands) {
      if (command.end_ns > time_ns) continue;
      uint64_t* unit = &values[command.unit * kPerUnit];
      uint64_t stalled = 0;
      const auto stalls = StallTicks(device, command);
      for (int s = 0; s < kNumStalls; ++s) {
        unit[2 + s] += stalls[s];
        stalled += stalls[s];
      }
      unit[0] += ticks(command.head_ns, command.end_ns) - stalled;
      unit[2 + kNumStalls] += 1;
      if (command.unit == kIn) in_bytes += command.bytes;
      if (command.unit == kOut) out_bytes += command.bytes;
    }
  }
  const uint64_t elapsed = ticks(0, time_ns);
  for (int u = 0; u < 4; ++u) {
    uint64_t* unit = &values[u * kPerUnit];
    uint64_t held = unit[0];
    for (int s = 0; s < kNumStalls; ++s) held += unit[2 + s];
    unit[1] = elapsed - held;
  }
  values[4 * kPerUnit] = elapsed;
  values[4 * kPerUnit + 1] = in_bytes;
  values[4 * kPerUnit + 2] = out_bytes;
  AddCounters(device, time_ns, values);
}

void TraceBuilder::AddLoss(const std::string& hop, uint64_t count, int64_t first_ns,
                           int64_t last_ns) {
  losses_.add_hop(Intern(hop));
  losses_.add_count(count);
  losses_.add_first(first_ns);
  losses_.add_last(last_ns);
  losses_.add_in_ticks(0);
  losses_.add_device(0);
}

void TraceBuilder::AddHop(const std::string& name, uint64_t in, uint64_t out, uint64_t lost,
                          uint64_t bad, const std::string& into) {
  proto::Accounts::Hop* hop = accounts_.add_hops();
  hop->set_name(name);
  hop->set_in(in), hop->set_out(out), hop->set_lost(lost), hop->set_bad(bad);
  hop->set_into(into);
}

JobSpec JobOfCall(int64_t call_ns, uint32_t number, int64_t completion_ns) {
  JobSpec job;
  job.job = number, job.sequence = number, job.correlation = (uint64_t{100} << 32) + number;
  job.submit_ns = call_ns + 1'000, job.doorbell_ns = call_ns + 2'000;
  job.submit_end_ns = call_ns + 2'500, job.device_doorbell_ns = call_ns + 2'600;
  job.fetched_ns = call_ns + 3'000;
  job.completion_ns = completion_ns, job.device_irq_ns = completion_ns + 100;
  job.irq_ns = completion_ns + 1'000, job.complete_ns = completion_ns + 2'000;
  return job;
}

std::string Encode(std::vector<proto::Packet> packets, size_t left_out) {
  stream::PacketEncoder encoder;
  std::string bytes;
  for (size_t i = 0; i < packets.size(); ++i) {
    const proto::Packet& packet = packets[i];
    const size_t events = packet.has_block() ? packet.block().rows() : stream::Rows(packet);
    std::string frame;
    encoder.Append(&packets[i], 0, static_cast<uint32_t>(events), &frame);
    if (i != left_out) bytes += frame;
  }
  encoder.AppendFooter(&bytes);
  return bytes;
}

std::unique_ptr<model::Model> LoadPackets(std::vector<proto::Packet> packets, size_t left_out) {
  const std::string bytes = Encode(std::move(packets), left_out);
  auto reader = stream::Reader::FromMemory(bytes);
  assert(reader.ok());
  auto model = model::Load(reader->get());
  assert(model.ok());
  return std::move(model).value();
}

std::string TraceBuilder::Bytes() { return Encode(Packets()); }

std::unique_ptr<model::Model> TraceBuilder::Model() { return LoadPackets(Packets()); }

}  // namespace acceltrace::test
