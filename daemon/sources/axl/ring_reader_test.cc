// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/ring_reader.h"

#include <cstring>
#include <vector>

#include "daemon/testing/axl/fake_ring.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2 = FakeRing::kLog2;
constexpr uint64_t kRecords = FakeRing::kRecords;

RingReader Open(FakeRing* ring) {
  auto reader = RingReader::Open(ring->data(), ring->size());
  REQUIRE(reader.ok());
  return std::move(reader).value();
}

TEST_CASE("records come out once, in order, over many wraps") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  uint32_t next = 1, expected = 1;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1 + round % 32; ++i) ring.Produce(next++);
    reader.Drain(kRecords, [&](const axl_record* records, size_t count) {
      for (size_t k = 0; k < count; ++k) REQUIRE(records[k].cmd.job == expected++);
    });
  }
  CHECK(expected == next);
  CHECK(reader.counts().out == next - 1);
  CHECK(reader.counts().AllLost() == 0);
  CHECK(ring.header().consumed == ring.header().produced);
}

TEST_CASE("a full ring drops, and every drop is counted") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  uint64_t made = 0, seen = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 45; ++i, ++made) ring.Produce(static_cast<uint32_t>(made + 1));
    CHECK(reader.Drain(kRecords, [&](const axl_record*, size_t count) { seen += count; }) == 1000);
  }
  CHECK(seen == 50 * kRecords);
  CHECK(reader.counts().lost == made - seen);
  CHECK(reader.counts().in() == made);
  // The last round's drops are at the end: no later record shows the gap.
  CHECK(reader.counts().missing == 49 * (45 - kRecords));
}

TEST_CASE("a loss that the device does not own up to shows in the record numbers") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (int i = 0; i < 40; ++i) ring.Produce(1);
  ring.header().lost = 0;
  reader.Drain(kRecords, [](const axl_record*, size_t) {});
  ring.Produce(1);
  reader.Drain(kRecords, [](const axl_record*, size_t) {});
  CHECK(reader.counts().lost == 0);
  CHECK(reader.counts().AllLost() == 40 - kRecords);
}

TEST_CASE("a drain takes as much as it was asked to") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (uint32_t job = 1; job <= 20; ++job) ring.Produce(job);
  uint64_t seen = 0;
  const auto take = [&](const axl_record*, size_t count) { seen += count; };
  CHECK(reader.Drain(8, take) == 20 * 1000 / kRecords);
  CHECK(seen == 8);
  CHECK(reader.more());
  CHECK(ring.header().consumed == 8);
  reader.Drain(100, take);
  CHECK(seen == 20);
  CHECK_FALSE(reader.more());
}

void Refuse(const axl_record*, size_t) { FAIL("read from a bad index"); }

TEST_CASE("a producer index that makes no sense reads nothing and heals") {
  FakeRing ring;
  RingReader reader = Open(&ring);
  for (int i = 0; i < 3; ++i) ring.Produce(1);
  const uint64_t produced = ring.header().produced;
  for (const uint64_t nonsense : {~uint64_t{0}, uint64_t{1} << 40, produced + kRecords + 1}) {
    ring.header().produced = nonsense;
    CHECK(reader.Drain(kRecords, Refuse) == 0);
  }
  CHECK(reader.counts().bad_index == 3);
  ring.header().produced = produced;
  reader.Drain(kRecords, [](const axl_record*, size_t) {});
  CHECK(reader.counts().out == 3);
}

TEST_CASE("a header of another version or size is refused") {
  FakeRing ring;
  ring.header().record_bytes = 64;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size()).ok());
  ring.header().record_bytes = AXL_TRACE_RECORD_BYTES;
  ring.header().log2_records = kLog2 + 1;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size()).ok());
  ring.header().log2_records = 63;
  CHECK_FALSE(RingReader::Open(ring.data(), ring.size()).ok());
  ring.header().log2_records = kLog2;
  CHECK_FALSE(RingReader::Open(ring.data(), 100).ok());
  CHECK(RingReader::Open(ring.data(), ring.size()).ok());
}

}  // namespace
}  // namespace acceltrace::daemon
