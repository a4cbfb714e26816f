// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's seeds are the sample trace as a whole, truncated, and packet by packet. `unit-stream
// [.corpus]`, run at the top of the repository, regenerates them.
#include <fstream>

#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/file/sample_trace.h"
#include "tests/catch.h"

namespace acceltrace::stream {

namespace {

void Write(const std::string& name, const std::string& bytes) {
  std::ofstream file("libtrace/stream/file/corpus/" + name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

void Write(const proto::Packet& packet) {
  Write("body-" + std::to_string(packet.body_case()), packet.SerializeAsString());
}

// Writes packets of host events.
void WriteHost() {
  const auto write_host = [](auto fill) {
    proto::Packet packet;
    fill(&packet);
    Write(packet);
  };
  write_host([](proto::Packet* packet) {
    proto::ThreadRunBatch* runs = packet->mutable_thread_runs();
    for (int row = 0; row < 3; ++row) {
      runs->add_begin_ns_delta(5000);
      runs->add_run_ns(1000);
      runs->add_tid(7);
      runs->add_away(2);
      runs->add_away_ns(4000);
      runs->add_ready_ns(10);
      runs->add_left(row < 2 ? 2 : 5);
    }
  });
  write_host([](proto::Packet* packet) {
    proto::InterruptBatch* interrupts = packet->mutable_interrupts();
    interrupts->add_end_ns_delta(5000);
    interrupts->add_stretch_ns(1000);
    interrupts->add_kind(1);
    interrupts->add_device(1);
  });
  write_host([](proto::Packet* packet) {
    packet->mutable_system_counters()->add_counter(1);
    packet->mutable_system_counters()->add_kind(1);
  });
  write_host([](proto::Packet* packet) {
    packet->mutable_system_samples()->add_time_ns_delta(5000);
    packet->mutable_system_samples()->add_counter(1);
    packet->mutable_system_samples()->add_value(9);
  });
  write_host([](proto::Packet* packet) {
    packet->mutable_process_groups()->add_time_ns_delta(5000);
    packet->mutable_process_groups()->add_pid(7);
  });
  write_host([](proto::Packet* packet) {
    packet->mutable_stack_frames()->add_stack(1);
    packet->mutable_stack_frames()->add_offset(0x1234);
  });
  write_host([](proto::Packet* packet) {
    packet->mutable_call_stacks()->add_time_ns_delta(5000);
    packet->mutable_call_stacks()->add_correlation_delta(77);
    packet->mutable_call_stacks()->add_stack(1);
  });
}

// Writes commands as a packed block, and ranges in a packed packet.
void WritePacked(const std::vector<proto::Packet>& packets) {
  RowColumns columns;
  columns.rows = 100;
  for (const int column : {1, 2, 3, 4, 6, 64}) {
    for (uint64_t row = 0; row < columns.rows; ++row) {
      columns.columns[column].push_back(column == 6 ? row % 3 : 1000 * row + row % 7);
    }
  }
  proto::Packet block, ranges, packed;
  block.mutable_packed_block()->set_table(proto::Block::TABLE_COMMANDS);
  block.mutable_packed_block()->set_stalls(1);
  REQUIRE(Packing().Pack(columns, block.mutable_packed_block()));
  for (int i = 0; i < 500; ++i) {
    ranges.mutable_ranges()->add_begin_ns_delta(5000 + i % 2);
    ranges.mutable_ranges()->add_duration_ns(1000);
  }
  REQUIRE(Packing().Pack(ranges, &packed));
  Write("packed-block", block.SerializeAsString());
  Write("packed", packed.SerializeAsString());
  Write("packed-whole", Encode({packets[0], packets[1], block, packed}));
}

TEST_CASE("write the seeds of the fuzzer", "[.corpus]") {
  const std::vector<proto::Packet> packets = SamplePackets();
  const std::string bytes = Encode(packets);
  Write("whole", bytes);
  Write("cut", bytes.substr(0, bytes.size() - 20));
  for (const proto::Packet& packet : packets) Write(packet);
  WriteHost();
  WritePacked(packets);
}

}  // namespace
}  // namespace acceltrace::stream
