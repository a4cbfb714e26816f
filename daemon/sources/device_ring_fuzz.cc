// SPDX-License-Identifier: Apache-2.0
//
// A device that writes anything into its trace ring, at any time. Whatever it
// does, the reader and the session stay within bounds and their books balance.
//
// Input: a header image, then steps. Each step: an index change, a loss change,
// then a record image and the slot it goes to.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "daemon/session/session.h"
#include "daemon/sources/device_description.h"
#include "daemon/sources/ring_reader.h"

namespace {

using namespace acceltrace::daemon;
using acceltrace::proto::Packet;

constexpr uint32_t kLog2 = 5;
constexpr uint32_t kRecords = 1 << kLog2;

class Discard : public PacketOutput {
 public:
  void Write(Packet*, int64_t, uint32_t) override {}
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  // What is missing reads as zeros.
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
  auto reader = RingReader::Open(memory.data(), memory.size() * 8, limits);
  if (!reader.ok()) return 0;

  Discard output;
  Session session(&output);
  session.Begin({});
  axl_info info = {};
  info.num_counters = AXL_NUM_COUNTERS;
  info.clock_bits = limits.clock_bits;
  session.OnDevice(DescribeDevice(info));
  uint64_t seen = 0;
  for (int step = 0; step < 64 && !input.empty(); ++step) {
    uint8_t change[4];
    input.Take(change, sizeof(change));
    // Mostly plausible: a few more records, or the index of the fuzzer's choice.
    header->produced = change[0] == 0xff ? input.Number() : header->produced + change[0] % 8;
    header->lost = change[1] == 0xff ? input.Number() : header->lost + change[1] % 4;
    if (change[2] == 0xff) header->consumed = input.Number();
    input.Take(&records[change[3] % kRecords], sizeof(axl_record));
    reader.value().Drain([&](const axl_record& record) {
      ++seen;
      if (record.h.type != AXL_REC_LOSS) session.OnRecord(0, record);
    });
  }
  session.Finish(0);
  if (reader.value().counts().out != seen) abort();
  const Hop& books = session.hops().back();
  if (books.in != books.out + books.lost + books.bad) abort();
  return 0;
}
