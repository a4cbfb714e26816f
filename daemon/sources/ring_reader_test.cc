// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/ring_reader.h"

#include <cstring>
#include <vector>

#include "daemon/testing/records.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2 = 5;
constexpr uint64_t kRecords = 1 << kLog2;

// A ring and the device's side of it.
class FakeRing {
 public:
  FakeRing() : memory_(AXL_TRACE_HEADER_BYTES + kRecords * AXL_TRACE_RECORD_BYTES) {
    header().magic = AXL_TRACE_MAGIC;
    header().record_bytes = AXL_TRACE_RECORD_BYTES;
    header().log2_records = kLog2;
  }
  axl_trace_header& header() { return *reinterpret_cast<axl_trace_header*>(memory_.data()); }
  void* data() { return memory_.data(); }
  size_t size() const { return memory_.size(); }

  // As the hardware does it: drops when full, numbers dropped records too.
  void Produce(uint32_t job) {
    const uint32_t sequence = next_sequence_++;
    if (header().produced - header().consumed == kRecords) {
      ++header().lost;
      return;
    }
    const axl_record record = CommandRecord(job, 0, sequence);
    std::memcpy(
        memory_.data() + AXL_TRACE_HEADER_BYTES + (header().produced % kRecords) * sizeof(record),
        &record, sizeof(record));
    ++header().produced;
  }

 private:
  std::vector<char> memory_;
  uint32_t next_sequence_ = 7;
};

RingReader Open(FakeRing* ring) {
  auto reader = RingReader::Open(ring->data(), ring->size(), TestLimits());
  REQUIRE(reader.ok());
  return std::move(reader).value();
}

TEST_CASE("records come out once, in order, over many wraps") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  uint32_t next = 1, expected = 1;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1 + round % 32; ++i) ring.Produce(next++);
    reader.Drain([&](const axl_record& record) { REQUIRE(record.cmd.job == expected++); });
  }
  CHECK(expected == next);
  CHECK(reader.counts().out == next - 1);
  CHECK(reader.counts().AllLost() == 0);
  CHECK(reader.counts().bad == 0);
  CHECK(ring.header().consumed == ring.header().produced);
}

TEST_CASE("a full ring drops, and every drop is in the books") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  uint64_t made = 0, seen = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 45; ++i, ++made) ring.Produce(static_cast<uint32_t>(made + 1));
    CHECK(reader.Drain([&](const axl_record&) { ++seen; }) == 1000);
  }
  CHECK(seen == 50 * kRecords);
  CHECK(reader.counts().lost == made - seen);
  CHECK(reader.counts().in() == made);
  // The last round's drops are at the tail: no record after them shows the gap.
  CHECK(reader.counts().missing == 49 * (45 - kRecords));
}

TEST_CASE("a loss that the device does not own up to shows in the record numbers") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (int i = 0; i < 40; ++i) ring.Produce(1);
  ring.header().lost = 0;
  reader.Drain([](const axl_record&) {});
  ring.Produce(1);
  reader.Drain([](const axl_record&) {});
  CHECK(reader.counts().lost == 0);
  CHECK(reader.counts().AllLost() == 40 - kRecords);
}

TEST_CASE("bad records are counted and skipped") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (int i = 0; i < 10; ++i) ring.Produce(1);
  auto* records =
      reinterpret_cast<axl_record*>(static_cast<char*>(ring.data()) + AXL_TRACE_HEADER_BYTES);
  records[4].h.type = 99;
  uint64_t seen = 0;
  reader.Drain([&](const axl_record&) { ++seen; });
  CHECK(seen == 9);
  CHECK(reader.counts().bad == 1);
  CHECK(reader.counts().in() == 10);
}

TEST_CASE("a producer index that makes no sense reads nothing and heals") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (int i = 0; i < 3; ++i) ring.Produce(1);
  const uint64_t produced = ring.header().produced;
  for (const uint64_t nonsense : {~uint64_t{0}, uint64_t{1} << 40, produced + kRecords + 1}) {
    ring.header().produced = nonsense;
    CHECK(reader.Drain([](const axl_record&) { FAIL("read from a bad index"); }) == 0);
  }
  CHECK(reader.counts().bad_index == 3);
  ring.header().produced = produced;
  reader.Drain([](const axl_record&) {});
  CHECK(reader.counts().out == 3);
}

TEST_CASE("a header of another version or size is refused") {
  FakeRing ring;
  ring.header().record_bytes = 64;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size(), TestLimits()).ok());
  ring.header().record_bytes = AXL_TRACE_RECORD_BYTES;
  ring.header().log2_records = kLog2 + 1;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size(), TestLimits()).ok());
  ring.header().log2_records = 63;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size(), TestLimits()).ok());
  ring.header().log2_records = kLog2;
  CHECK_FALSE(RingReader::Open(ring.data(), 100, TestLimits()).ok());
  CHECK(RingReader::Open(ring.data(), ring.size(), TestLimits()).ok());
}

}  // namespace
}  // namespace acceltrace::daemon
