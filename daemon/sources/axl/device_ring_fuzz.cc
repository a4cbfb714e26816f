// SPDX-License-Identifier: Apache-2.0
//
// A device that writes anything to its trace ring, at any time. The reader and the session must
// stay within bounds, and their accounts must balance.
//
// Input: a header image, then steps. Each step is an index change, a loss change, a record image
// and the slot for it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "daemon/session/session.h"
#include "daemon/sources/axl/device_description.h"
#include "daemon/sources/axl/driver_record.h"
#include "daemon/sources/axl/record_intake.h"
#include "daemon/sources/axl/ring_reader.h"
#include "kmod/uapi/axl_counters.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/test_batches.h"

namespace {

using namespace acceltrace::daemon;
using acceltrace::proto::Packet;
namespace stream = acceltrace::stream;

constexpr uint32_t kLog2 = 5;
constexpr uint32_t kRecords = 1 << kLog2;

// Checks that readers accept each block, and that it has the stated number of rows.
class CheckBlocks : public PacketOutput {
 public:
  void Write(Packet* packet, int64_t, uint32_t rows) override {
    if (!packet->has_block()) return;
    Packet batch;
    if (!stream::UnpackBlock(packet->block(), &batch, packet->ByteSizeLong()).ok() ||
        stream::Rows(batch) != rows) {
      abort();
    }
  }
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  // Missing input is read as zeros.
  void Take(void* to, size_t bytes) {
    memset(to, 0, bytes);
    const size_t some = bytes < size_ ? bytes : size_;
    memcpy(to, data_, some);
    data_ += some;
    size_ -= some;
  }
  uint64_t Number() {
    uint64_t value;
    Take(&value, sizeof(value));
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  std::vector<uint64_t> memory((AXL_TRACE_HEADER_BYTES + kRecords * AXL_TRACE_RECORD_BYTES) / 8);
  auto* header = reinterpret_cast<axl_trace_header*>(memory.data());
  auto* records = reinterpret_cast<axl_record*>(reinterpret_cast<char*>(memory.data()) +
                                                AXL_TRACE_HEADER_BYTES);
  uint8_t sane = 0;
  input.Take(&sane, 1);
  if (sane != 0) {
    header->magic = AXL_TRACE_MAGIC;
    header->record_bytes = AXL_TRACE_RECORD_BYTES;
    header->log2_records = kLog2;
  } else {
    input.Take(header, sizeof(*header));
  }
  RecordLimits limits;
  limits.num_queues = 16;
  limits.num_contexts = 8;
  limits.num_counters = AXL_NUM_COUNTERS;
  limits.clock_bits = 32 + sane % 33;
  auto reader = RingReader::Open(memory.data(), memory.size() * 8);
  if (!reader.ok()) return 0;

  CheckBlocks output;
  Session session(&output);
  session.Begin({});
  axl_info info = {};
  info.num_counters = AXL_NUM_COUNTERS;
  info.clock_bits = limits.clock_bits;
  session.OnDevice(DescribeDevice(info));
  RecordIntake intake(
      0, limits, "device-ring", [](uint32_t context, uint64_t) { return context != 5; }, &session);
  uint64_t seen = 0;
  for (int step = 0; step < 64 && !input.empty(); ++step) {
    uint8_t change[4];
    input.Take(change, sizeof(change));
    // Mostly plausible: a few more records, or an index chosen by the fuzzer.
    header->produced = change[0] == 0xff ? input.Number() : header->produced + change[0] % 8;
    header->lost = change[1] == 0xff ? input.Number() : header->lost + change[1] % 4;
    if (change[2] == 0xff) header->consumed = input.Number();
    input.Take(&records[change[3] % kRecords], sizeof(axl_record));
    const size_t most = change[2] % 4 == 0 ? 3 : kRecords;
    reader.value().Drain(most, [&](const axl_record* some, size_t count) {
      seen += count;
      // The driver's own ring has the same frame with other records.
      for (size_t i = 0; i < count; ++i) {
        axl_host_record record;
        memcpy(&record, &some[i], sizeof(record));
        DriverRecord read;
        (void)ReadDriverRecord(record, 0, sane * 10'000u, &read);
      }
      intake.Handle(some, count);
    });
  }
  intake.Flush();
  session.Finish(0);
  if (reader.value().counts().out != seen) abort();
  const Hop& account = session.hops().back();
  if (account.in != account.out + account.lost + account.bad) abort();
  return 0;
}
