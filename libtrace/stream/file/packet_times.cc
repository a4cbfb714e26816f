// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/packet_times.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"

namespace acceltrace::stream {
namespace {

using google::protobuf::RepeatedField;
using proto::Packet;

// The columns of a batch with the times of its rows: begins or times as differences, and lengths.
struct TimeColumns {
  bool of_device = false;
  uint32_t device = 0;
  const RepeatedField<int64_t>* begins = nullptr;
  const RepeatedField<uint64_t>* lengths = nullptr;
};

TimeColumns TimeColumnsOf(const Packet& packet) {
  switch (packet.body_case()) {
    case Packet::kApi:
      return {false, 0, &packet.api().begin_ns_delta(), &packet.api().duration_ns()};
    case Packet::kRanges:
      return {false, 0, &packet.ranges().begin_ns_delta(), &packet.ranges().duration_ns()};
    case Packet::kThreadRuns:
      return {false, 0, &packet.thread_runs().begin_ns_delta(), &packet.thread_runs().run_ns()};
    case Packet::kHost:
      return {false, 0, &packet.host().time_ns_delta()};
    case Packet::kSystemSamples:
      return {false, 0, &packet.system_samples().time_ns_delta()};
    case Packet::kCallStacks:
      return {false, 0, &packet.call_stacks().time_ns_delta()};
    case Packet::kInterrupts:
      return {false, 0, &packet.interrupts().end_ns_delta()};
    case Packet::kCommands:
      return {true, packet.commands().device(), &packet.commands().fetched_ticks_delta()};
    case Packet::kJobs:
      return {true, packet.jobs().device(), &packet.jobs().doorbell_ticks_delta()};
    case Packet::kOthers:
      return {true, packet.others().device(), &packet.others().first_head_ticks_delta()};
    case Packet::kCounters:
      return {true, packet.counters().device(), &packet.counters().time_ticks_delta()};
    case Packet::kDeviceEvents:
      return {true, packet.device_events().device(), &packet.device_events().time_ticks_delta()};
    default:
      return {};
  }
}

bool IsOfDevice(uint32_t body) { return body == Packet::kCommands || body == Packet::kJobs; }

PacketTimes OfBlock(const proto::Block& block) {
  const auto body = static_cast<uint32_t>(BatchOf(block.table()));
  PacketTimes times;
  if (body == 0 || (block.first() == 0 && block.last() == 0)) return times;
  times.clock = IsOfDevice(body) ? PacketTimes::Clock::kDevice : PacketTimes::Clock::kHost;
  times.device = block.device();
  times.first = block.first(), times.last = block.last();
  return times;
}

}  // namespace

PacketTimes TimesOf(const Packet& packet) {
  if (packet.has_block()) return OfBlock(packet.block());
  if (packet.has_packed_block()) return OfBlock(packet.packed_block());
  if (packet.has_packed()) {
    Packet unpacked = packet;
    return Unpack(&unpacked).ok() ? TimesOf(unpacked) : PacketTimes();
  }
  const TimeColumns columns = TimeColumnsOf(packet);
  PacketTimes times;
  times.device = columns.device;
  if (columns.begins == nullptr || columns.begins->empty()) return times;
  // Ticks are compared with ticks of the same device, as signed numbers.
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  DeltaDecoder begins(*columns.begins);
  for (size_t row = 0; row < static_cast<size_t>(columns.begins->size()); ++row) {
    const uint64_t begin = begins.NextUnsigned();
    const uint64_t length = columns.lengths == nullptr ? 0 : ColumnAt(*columns.lengths, row);
    first = std::min(first, static_cast<int64_t>(begin));
    last = std::max(last, static_cast<int64_t>(begin + length));
  }
  times.clock = columns.of_device ? PacketTimes::Clock::kDevice : PacketTimes::Clock::kHost;
  times.first = static_cast<uint64_t>(first), times.last = static_cast<uint64_t>(last);
  return times;
}

}  // namespace acceltrace::stream
