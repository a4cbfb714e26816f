// SPDX-License-Identifier: Apache-2.0
//
// A tiny trace with one packet of most kinds, for this folder's tests and the fuzzer's corpus.
#ifndef LIBTRACE_STREAM_FILE_SAMPLE_TRACE_H_
#define LIBTRACE_STREAM_FILE_SAMPLE_TRACE_H_

#include <string>
#include <vector>

#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/writer.h"

namespace acceltrace::stream {

inline std::vector<proto::Packet> SamplePackets() {
  std::vector<proto::Packet> packets(7);
  packets[0].mutable_info()->set_schema_version(1);
  packets[0].mutable_info()->set_host("sample");
  proto::Device& device = *packets[1].mutable_device();
  device.set_name("acc0");
  device.mutable_clock()->set_nominal_hz(1'000'000'000);
  device.mutable_clock()->set_bits(64);
  device.add_units()->set_name("matrix");
  device.add_stalls("memory");
  packets[2].mutable_strings()->add_id(1);
  packets[2].mutable_strings()->add_value("axlMemcpyAsync");

  DeltaEncoder begin, host, ticks, before;
  for (int i = 0; i < 3; ++i) {
    proto::ApiBatch& api = *packets[3].mutable_api();
    begin.Append(int64_t{1'000'000 + 500 * i}, api.mutable_begin_ns_delta());
    api.add_duration_ns(100);
    api.add_name(1);
    api.add_result(0);
    proto::HostBatch& events = *packets[4].mutable_host();
    events.add_kind(proto::HostBatch::KIND_DOORBELL);
    host.Append(int64_t{1'000'050 + 500 * i}, events.mutable_time_ns_delta());
    events.add_job(static_cast<uint32_t>(i + 1));
    proto::CommandBatch& commands = *packets[5].mutable_commands();
    ticks.Append(uint64_t{7'000'000'000} + 400 * i, commands.mutable_fetched_ticks_delta());
    commands.add_end_ticks_after(50);
    commands.add_job(static_cast<uint32_t>(i + 1));
    commands.add_stall_ticks(static_cast<uint64_t>(i));
    proto::ClockBatch& clocks = *packets[6].mutable_clocks();
    before.Append(int64_t{1'000'000 + 1000 * i}, clocks.mutable_host_before_ns_delta());
    clocks.add_host_width_ns(300);
  }
  return packets;
}

inline std::string Encode(std::vector<proto::Packet> packets, bool footer = true) {
  PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet& packet : packets) {
    encoder.Append(&packet, 0, static_cast<uint32_t>(Rows(packet)), &bytes);
  }
  if (footer) encoder.AppendFooter(&bytes);
  return bytes;
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_SAMPLE_TRACE_H_
