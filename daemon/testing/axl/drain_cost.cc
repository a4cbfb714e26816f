// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a command record from the ring to the encoded block: drains a ring of
// plausible records repeatedly. In a guest under --icount a nanosecond is an instruction.
// tests/bench/collection runs it. Prints a line of JSON.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "daemon/base/host_info.h"
#include "daemon/sources/axl/record_intake.h"
#include "daemon/sources/axl/ring_reader.h"
#include "daemon/testing/axl/records.h"
#include "daemon/testing/collecting.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2 = 14;
constexpr size_t kRecords = size_t{1} << kLog2;

// Counts the bytes that would be written.
class CountingHandler : public CollectingHandler {
 public:
  void OnBlock(proto::Packet* block, int64_t, uint32_t count, uint64_t) override {
    bytes += block->ByteSizeLong();
    rows += count;
  }
  uint64_t bytes = 0, rows = 0;
};

// Like a transformer's step: jobs of eight commands on four engines, with varying gaps.
void Fill(axl_record* records) {
  std::mt19937_64 random(1);
  uint64_t now = 1'000'000'000'000;
  for (uint32_t i = 0; i < kRecords; ++i) {
    axl_record record = CommandRecord(1 + i / 8, static_cast<uint16_t>(i % 8), i);
    axl_rec_cmd& cmd = record.cmd;
    cmd.h.engine = static_cast<uint8_t>(random() % AXL_NUM_ENGINES);
    now += 500 + random() % 2000;
    cmd.fetched = now;
    cmd.head = now + random() % 40000;
    cmd.start = cmd.head + (random() % 4 != 0 ? random() % 90000 : 0);
    cmd.end = cmd.start + 1000 + random() % 60000;
    cmd.h.time = cmd.end;
    cmd.tag = static_cast<uint32_t>(random() % 30);
    std::memset(cmd.stall, 0, sizeof(cmd.stall));
    cmd.stall[AXL_STALL_SEMAPHORE] = static_cast<uint32_t>(cmd.start - cmd.head);
    cmd.stall[AXL_STALL_DISPATCH] = 200;
    if (cmd.h.engine == AXL_ENGINE_H2D) cmd.stall[AXL_STALL_PCIE] = 700;
    cmd.work = 1 << (random() % 20);
    cmd.bytes = 64 * (random() % 1000);
    cmd.dram_bytes = cmd.bytes + 64;
    cmd.row_hits = static_cast<uint32_t>(random() % 2000);
    cmd.row_misses = static_cast<uint32_t>(random() % 50);
    std::memcpy(&records[i], &record, sizeof(record));
  }
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 8;
  const size_t step = argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 1024;
  std::vector<uint64_t> memory((AXL_TRACE_HEADER_BYTES + sizeof(axl_record) * kRecords) / 8);
  auto* header = reinterpret_cast<axl_trace_header*>(memory.data());
  header->magic = AXL_TRACE_MAGIC;
  header->record_bytes = AXL_TRACE_RECORD_BYTES;
  header->log2_records = kLog2;
  Fill(reinterpret_cast<axl_record*>(reinterpret_cast<char*>(memory.data()) +
                                     AXL_TRACE_HEADER_BYTES));
  auto reader = RingReader::Open(memory.data(), memory.size() * sizeof(uint64_t));
  if (!reader.ok()) return 1;
  CountingHandler handler;
  RecordIntake intake(
      0, TestLimits(), "device-ring", [](uint32_t, uint64_t) { return true; }, &handler);
  const auto drain = [&] {
    header->produced += kRecords;
    do {
      reader->Drain(step,
                    [&](const axl_record* some, size_t count) { intake.Handle(some, count); });
    } while (reader->more());
  };
  drain();  // pages and allocations
  handler.bytes = handler.rows = 0;
  const int64_t begin_ns = MonotonicNs();
  for (int round = 0; round < rounds; ++round) drain();
  const int64_t end_ns = MonotonicNs();
  intake.Flush();
  if (intake.bad() != 0 || handler.rows != kRecords * static_cast<size_t>(rounds)) return 1;
  std::printf("{\"records\": %llu, \"ns_per_record\": %.1f, \"bytes_per_record\": %.2f}\n",
              static_cast<unsigned long long>(handler.rows),
              static_cast<double>(end_ns - begin_ns) / static_cast<double>(handler.rows),
              static_cast<double>(handler.bytes) / static_cast<double>(handler.rows));
  return 0;
}

}  // namespace
}  // namespace acceltrace::daemon

int main(int argc, char** argv) { return acceltrace::daemon::Main(argc, argv); }
