// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/validate.h"

#include <algorithm>
#include <string>

#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::stream {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::RepeatedField;
using proto::Packet;

// Limit for one event of the tracer: more than a second is implausible.
constexpr uint64_t kMaxCostPs = 1'000'000'000'000;

Status Bad(const char* what) { return Status::Error(std::string("invalid packet: ") + what); }

Status CheckColumns(const Message& batch, size_t rows) {
  const auto& reflection = *batch.GetReflection();
  const auto& descriptor = *batch.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!field.is_repeated() || IsRowMajor(field)) continue;
    const int size = reflection.FieldSize(batch, &field);
    if (size != 0 && static_cast<size_t>(size) != rows) {
      return Status::Error("invalid packet: column " + field.full_name() + " has " +
                           std::to_string(size) + " values, not " + std::to_string(rows));
    }
  }
  return {};
}

template <typename T>
bool AllAtMost(const RepeatedField<T>& column, T limit) {
  return std::all_of(column.begin(), column.end(), [limit](T value) { return value <= limit; });
}

bool AreFlags(const RepeatedField<uint32_t>& column) { return AllAtMost(column, 1u); }

// Returns true if each host time of the column is within [0, kMaxTimeNs].
bool AreTimes(const RepeatedField<int64_t>& deltas) {
  DeltaDecoder times(deltas);
  for (int i = 0; i < deltas.size(); ++i) {
    const int64_t time_ns = times.Next();
    if (time_ns < 0 || time_ns > kMaxTimeNs) return false;
  }
  return true;
}

bool IsTime(int64_t ns) { return ns >= 0 && ns <= kMaxTimeNs; }
// For values that are added to a time.
bool IsOffset(int64_t ns) { return ns >= -kMaxTimeNs && ns <= kMaxTimeNs; }

bool AreDurations(const RepeatedField<uint64_t>& column) {
  return AllAtMost(column, static_cast<uint64_t>(kMaxTimeNs));
}

bool IsName(const std::string& text) { return text.size() <= kMaxNameBytes; }

bool AreNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return std::all_of(names.begin(), names.end(), IsName);
}

Status CheckInfo(const proto::TraceInfo& info) {
  if (info.probes_size() > kMaxNames || info.notes_size() > kMaxNames ||
      info.command_size() > static_cast<int>(kMaxStringBytes)) {
    return Bad("trace info with too many parts");
  }
  if (!IsTime(info.start_ns()) || !IsOffset(info.realtime_offset_ns()) ||
      !IsOffset(info.boottime_offset_ns())) {
    return Bad("trace info with an impossible time");
  }
  for (const proto::Probe& probe : info.probes()) {
    if (probe.name().size() > kMaxStringBytes || probe.reason().size() > kMaxStringBytes) {
      return Bad("name of a probe too long");
    }
  }
  return {};
}

// The names are limited because every row of a device's tables shows them.
Status CheckDeviceNames(const proto::Device& device) {
  const proto::Pci& pci = device.pci();
  bool fine =
      AreNames(device.stalls()) && AreNames(device.limiters()) && AreNames(device.statuses());
  for (const std::string* name : {&device.name(), &device.driver(), &device.model(), &pci.address(),
                                  &pci.upstream(), &pci.vendor_name(), &pci.device_name()}) {
    fine = fine && IsName(*name);
  }
  for (const auto& unit : device.units())
    fine = fine && IsName(unit.name()) && IsName(unit.work_unit());
  for (const auto& opcode : device.opcodes()) fine = fine && IsName(opcode.name());
  for (const auto& counter : device.counters()) {
    fine = fine && IsName(counter.name()) && IsName(counter.unit());
  }
  return fine ? Status() : Bad("name of a device's part too long");
}

Status CheckDevice(const proto::Device& device) {
  if (device.device() >= kMaxDevices) return Bad("device number too large");
  const size_t cells = static_cast<size_t>(device.units_size()) *
                       static_cast<size_t>(device.stalls_size() + device.limiters_size());
  if (cells > kMaxCells) return Bad("device with too many causes for its units");
  if (device.units_size() > kMaxUnits || device.stalls_size() > kMaxStalls ||
      device.counters_size() > kMaxCounters || device.limiters_size() > kMaxNames ||
      device.opcodes_size() > kMaxNames || device.statuses_size() > kMaxNames) {
    return Bad("device with too many names");
  }
  if (device.clock().bits() > 64) return Bad("clock wider than 64 bits");
  for (const auto& unit : device.units()) {
    if (!proto::Unit::Kind_IsValid(unit.kind())) return Bad("unknown kind of unit");
  }
  for (const auto& counter : device.counters()) {
    if (counter.unit_index() < -1 || counter.unit_index() >= device.units_size()) {
      return Bad("counter of a unit that the device does not have");
    }
  }
  return CheckDeviceNames(device);
}

Status CheckStrings(const proto::Strings& strings) {
  if (strings.id_size() != strings.value_size()) return Bad("strings without ids");
  for (const std::string& value : strings.value()) {
    if (value.size() > kMaxStringBytes) return Bad("string too long");
  }
  return {};
}

Status CheckRanges(const proto::RangeBatch& batch) {
  if (!AreTimes(batch.begin_ns_delta()) || !AreDurations(batch.duration_ns())) {
    return Bad("range at an impossible time");
  }
  if (!AreFlags(batch.open()) || !AreFlags(batch.mark()) || !AreFlags(batch.began_before())) {
    return Bad("flag that is not 0 or 1");
  }
  return {};
}

Status CheckCounters(const proto::CounterBatch& batch, size_t rows, size_t bytes) {
  if (batch.device() >= kMaxDevices) return Bad("device number too large");
  if (batch.counter_size() > kMaxCounters) return Bad("too many counters");
  if (!AllAtMost(batch.counter(), uint32_t{kMaxCounters - 1})) {
    return Bad("counter number too large");
  }
  const size_t values = batch.value_delta_size();
  if (values != 0 && values != rows * static_cast<size_t>(batch.counter_size())) {
    return Bad("counter values do not fill their rows");
  }
  // Absent values are zeros; an unused device has a few rows of them.
  constexpr size_t kFreeCells = 1024;
  if (values == 0 && rows * static_cast<size_t>(batch.counter_size()) > kFreeCells + 2 * bytes) {
    return Bad("counters without values");
  }
  if (!AreTimes(batch.host_before_ns_delta()) || !AreTimes(batch.host_after_ns_delta())) {
    return Bad("counter snapshot at an impossible time");
  }
  return {};
}

Status CheckClocks(const proto::ClockBatch& batch) {
  if (batch.device() >= kMaxDevices) return Bad("device number too large");
  if (!AreTimes(batch.host_before_ns_delta()) || !AreDurations(batch.host_width_ns()) ||
      !AreTimes(batch.ptm_host_ns_delta())) {
    return Bad("clock sample at an impossible time");
  }
  return AreFlags(batch.has_ptm()) ? Status() : Bad("flag that is neither 0 nor 1");
}

Status CheckDeviceEvents(const proto::DeviceEventBatch& batch) {
  if (batch.device() >= kMaxDevices) return Bad("device number too large");
  if (!AllAtMost(batch.kind(), static_cast<uint32_t>(proto::DeviceEventBatch::Kind_MAX))) {
    return Bad("unknown kind of device event");
  }
  return {};
}

Status CheckProcessEvents(const proto::ProcessEvents& batch) {
  if (!AllAtMost(batch.kind(), static_cast<uint32_t>(proto::ProcessEvents::Kind_MAX))) {
    return Bad("unknown kind of process event");
  }
  return AreTimes(batch.time_ns_delta()) ? Status() : Bad("process event at an impossible time");
}

Status CheckOthers(const proto::OthersBatch& batch, size_t rows) {
  if (batch.device() >= kMaxDevices) return Bad("device number too large");
  if (!AllAtMost(batch.unit(), uint32_t{kMaxUnits - 1})) return Bad("unit number too large");
  const size_t stalls = batch.stall_ticks_size();
  if (stalls != 0 && (rows == 0 || stalls % rows != 0 || stalls / rows > kMaxStalls)) {
    return Bad("stall columns do not fit their rows");
  }
  return {};
}

Status CheckThreadRuns(const proto::ThreadRunBatch& batch, size_t rows) {
  constexpr auto kMaxState = static_cast<uint32_t>(proto::ThreadRunBatch::State_MAX);
  if (!AllAtMost(batch.away(), kMaxState) || !AllAtMost(batch.left(), kMaxState)) {
    return Bad("unknown state of a thread");
  }
  if (!AreTimes(batch.begin_ns_delta()) || !AreDurations(batch.run_ns()) ||
      !AreDurations(batch.away_ns()) || !AreDurations(batch.charged_ns())) {
    return Bad("thread that runs at an impossible time");
  }
  DeltaDecoder begins(batch.begin_ns_delta());
  for (size_t row = 0; row < rows; ++row) {
    const auto begin_ns = static_cast<uint64_t>(begins.Next());
    const uint64_t away_ns = ColumnAt(batch.away_ns(), row);
    if (away_ns > begin_ns || ColumnAt(batch.ready_ns(), row) > away_ns) {
      return Bad("thread that waited for longer than there was time");
    }
  }
  if (!AreFlags(batch.waker_irq()) || !AreFlags(batch.began_before())) {
    return Bad("flag that is neither 0 nor 1");
  }
  return {};
}

Status CheckInterrupts(const proto::InterruptBatch& batch) {
  if (!AllAtMost(batch.kind(), static_cast<uint32_t>(proto::InterruptBatch::Kind_MAX))) {
    return Bad("unknown kind of interrupt");
  }
  if (!AllAtMost(batch.device(), kMaxDevices)) return Bad("device number too large");
  if (!AreTimes(batch.end_ns_delta()) || !AreDurations(batch.stretch_ns()) ||
      !AreDurations(batch.total_ns()) || !AreDurations(batch.longest_ns()) ||
      !AreDurations(batch.hit_ns())) {
    return Bad("interrupts at an impossible time");
  }
  return {};
}

Status CheckSystemCounters(const proto::SystemCounters& batch) {
  if (!AllAtMost(batch.kind(), static_cast<uint32_t>(proto::SystemCounters::Kind_MAX))) {
    return Bad("unknown kind of system counter");
  }
  if (!AllAtMost(batch.counter(), kMaxSystemCounters))
    return Bad("system counter number too large");
  return AllAtMost(batch.device(), kMaxDevices) ? Status() : Bad("device number too large");
}

Status CheckSystemSamples(const proto::SystemSamples& batch) {
  if (!AllAtMost(batch.counter(), kMaxSystemCounters))
    return Bad("system counter number too large");
  return AreTimes(batch.time_ns_delta()) ? Status() : Bad("system sample at an impossible time");
}

Status CheckProcessGroups(const proto::ProcessGroups& batch) {
  return AreTimes(batch.time_ns_delta()) ? Status() : Bad("control group at an impossible time");
}

Status CheckStackFrames(const proto::StackFrames& batch) {
  if (!AllAtMost(batch.stack(), kMaxStacks)) return Bad("stack number too large");
  return AllAtMost(batch.place(), kMaxFrames - 1) ? Status() : Bad("stack with too many frames");
}

Status CheckCallStacks(const proto::CallStacks& batch) {
  if (!AllAtMost(batch.stack(), kMaxStacks)) return Bad("stack number too large");
  return AreTimes(batch.time_ns_delta()) ? Status() : Bad("stack of an impossible time");
}

Status CheckLosses(const proto::LossBatch& batch, size_t rows) {
  if (!AllAtMost(batch.device(), kMaxDevices - 1)) return Bad("device number too large");
  if (!AreFlags(batch.in_ticks())) return Bad("flag that is neither 0 nor 1");
  for (size_t row = 0; row < rows; ++row) {
    if (ColumnAt(batch.in_ticks(), row) != 0) continue;
    if (!IsTime(ColumnAt(batch.first(), row)) || !IsTime(ColumnAt(batch.last(), row))) {
      return Bad("loss at an impossible time");
    }
  }
  return {};
}

Status CheckAccounts(const proto::Accounts& accounts) {
  if (accounts.hops_size() > kMaxNames) return Bad("too many hops");
  if (!IsTime(accounts.stop_ns()) || !IsTime(accounts.whole_since_ns())) {
    return Bad("recording that ends at an impossible time");
  }
  if (accounts.event_costs_size() > kMaxNames) return Bad("too many kinds of event costs");
  for (const auto& cost : accounts.event_costs()) {
    if (cost.cost_ps() > kMaxCostPs || cost.error_ps() > kMaxCostPs) {
      return Bad("event that costs more than a second");
    }
    if (cost.at_kinds_size() > proto::HostBatch::Kind_MAX) return Bad("too many kinds of events");
  }
  if (accounts.wake_ns() > kMaxCostPs / 1000 || accounts.wake_error_ns() > kMaxCostPs / 1000) {
    return Bad("wake-up that costs more than a second");
  }
  const int rows = accounts.work_begin_ns_delta_size();
  if (static_cast<size_t>(rows) > kMaxRows) return Bad("too many rows");
  for (const int size : {accounts.work_ns_size(), accounts.work_cpu_ns_size()}) {
    if (size != rows) return Bad("recorder's work without its length");
  }
  for (const int size : {accounts.work_cpu_size(), accounts.work_wakes_size()}) {
    if (size != 0 && size != rows) return Bad("recorder's work with columns that do not fit");
  }
  if (!AreTimes(accounts.work_begin_ns_delta()) || !AreDurations(accounts.work_ns()) ||
      !AreDurations(accounts.work_cpu_ns())) {
    return Bad("recorder's work at an impossible time");
  }
  return {};
}

}  // namespace

size_t LeastRowBytes(Packet::BodyCase body) {
  switch (body) {
    case Packet::kCommands:
      return 12;
    case Packet::kJobs:
    case Packet::kThreadRuns:
      return 10;
    case Packet::kApi:
    case Packet::kClocks:
      return 6;
    case Packet::kLosses:
    case Packet::kOthers:
      return 8;
    case Packet::kInterrupts:
      return 8;
    case Packet::kHost:
    case Packet::kDeviceEvents:
      return 5;
    case Packet::kRanges:
    case Packet::kCounters:
    case Packet::kProcessEvents:
      return 4;
    case Packet::kProcesses:
    case Packet::kOpNames:
    case Packet::kSystemCounters:
    case Packet::kSystemSamples:
    case Packet::kProcessGroups:
    case Packet::kStackFrames:
    case Packet::kCallStacks:
      return 3;
    default:
      return 2;
  }
}

Status Validate(const Packet& packet, size_t bytes) {
  size_t rows = 0;
  if (IsBatch(packet.body_case())) {
    rows = Rows(packet);
    if (rows > kMaxRows) return Bad("too many rows");
    if (rows > kFreeRows + bytes / LeastRowBytes(packet.body_case())) {
      return Bad("more rows than its bytes can hold");
    }
    Status columns = CheckColumns(*Body(packet), rows);
    if (!columns.ok()) return columns;
  }
  switch (packet.body_case()) {
    case Packet::kInfo:
      return CheckInfo(packet.info());
    case Packet::kDevice:
      return CheckDevice(packet.device());
    case Packet::kStrings:
      return CheckStrings(packet.strings());
    case Packet::kRanges:
      return CheckRanges(packet.ranges());
    case Packet::kCounters:
      return CheckCounters(packet.counters(), rows, bytes);
    case Packet::kClocks:
      return CheckClocks(packet.clocks());
    case Packet::kDeviceEvents:
      return CheckDeviceEvents(packet.device_events());
    case Packet::kLosses:
      return CheckLosses(packet.losses(), rows);
    case Packet::kProcessEvents:
      return CheckProcessEvents(packet.process_events());
    case Packet::kOthers:
      return CheckOthers(packet.others(), rows);
    case Packet::kThreadRuns:
      return CheckThreadRuns(packet.thread_runs(), rows);
    case Packet::kInterrupts:
      return CheckInterrupts(packet.interrupts());
    case Packet::kSystemCounters:
      return CheckSystemCounters(packet.system_counters());
    case Packet::kSystemSamples:
      return CheckSystemSamples(packet.system_samples());
    case Packet::kProcessGroups:
      return CheckProcessGroups(packet.process_groups());
    case Packet::kStackFrames:
      return CheckStackFrames(packet.stack_frames());
    case Packet::kCallStacks:
      return CheckCallStacks(packet.call_stacks());
    case Packet::kAccounts:
      return CheckAccounts(packet.accounts());
    default:
      return {};
  }
}

}  // namespace acceltrace::stream
