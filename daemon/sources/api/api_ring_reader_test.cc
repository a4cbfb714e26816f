// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/api_ring_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "daemon/base/host_info.h"
#include "daemon/base/unique_fd.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr ring::Layout kLayout = {1, 2, 8};

struct Sink : RingSink {
  Verdict OnRingCall(uint32_t, const ring::Slot&) override {
    ++calls;
    return Verdict::kTaken;
  }
  Verdict OnRingText(uint32_t, const ring::Slot&, std::string_view text) override {
    texts.emplace_back(text);
    if (texts_left > 0) --texts_left;
    return Verdict::kTaken;
  }
  void OnRingLoss(uint64_t count, uint64_t, uint64_t) override { lost += count; }
  bool MayGoOn() const override { return texts_left > 0; }

  size_t calls = 0, texts_left = SIZE_MAX;
  uint64_t lost = 0;
  std::vector<std::string> texts;
};

// The segment of a process that may write anything to it.
struct Segment {
  Segment() : file(memfd_create("segment", MFD_CLOEXEC)) {
    REQUIRE(ftruncate(file.get(), static_cast<off_t>(kLayout.bytes())) == 0);
    void* address =
        mmap(nullptr, kLayout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(address != MAP_FAILED);
    mapping = Mapping(address, kLayout.bytes());
    header()->magic = ring::kMagic;
    header()->version = ring::kVersion;
    header()->clock = ring::StampClock::kMonotonic;
    header()->names = kLayout.names;
    header()->threads = kLayout.threads;
    header()->slot_bits = kLayout.slot_bits;
  }
  char* at(size_t offset) const { return static_cast<char*>(mapping.get()) + offset; }
  ring::SegmentHeader* header() const { return reinterpret_cast<ring::SegmentHeader*>(at(0)); }
  ring::ThreadRing* ring(size_t index) const {
    return reinterpret_cast<ring::ThreadRing*>(at(kLayout.threads_at())) + index;
  }
  ring::Slot* Next(size_t index) const {
    const uint64_t place = ring(index)->head++ % kLayout.slots();
    return reinterpret_cast<ring::Slot*>(at(kLayout.slots_at() + index * kLayout.ring_bytes())) +
           place;
  }
  void Call(size_t index) const {
    *Next(index) = {1, static_cast<uint8_t>(ring::Kind::kApiBegin), 0, 0, 0, {{7, 0}}};
  }
  void Text(size_t index, const char* text) const {
    ring::Slot slot = {1, static_cast<uint8_t>(ring::Kind::kMark), 0, 0, 0, {{0, 0}}};
    slot.name = static_cast<uint16_t>(strlen(text));
    std::memcpy(slot.text, text, strlen(text));
    *Next(index) = slot;
  }
  SegmentReader Open() const {
    auto reader = SegmentReader::Open(mapping.get(), kLayout.bytes(), MonotonicNs(), file.get());
    REQUIRE(reader.ok());
    return std::move(reader).value();
  }

  UniqueFd file;
  Mapping mapping;
};

// Drains like the daemon.
size_t Drain(SegmentReader* reader, Sink* sink, size_t most = SIZE_MAX) {
  usleep(1000);  // long enough for some drops to be plausible
  reader->Look();
  return reader->Read(most, sink);
}

TEST_CASE("a count of drops is believed as far as there was time for them") {
  const Segment segment;
  SegmentReader reader = segment.Open();
  Sink sink;
  segment.ring(0)->dropped = 10;
  segment.header()->unclaimed = 5;
  Drain(&reader, &sink);
  CHECK(sink.lost == 15);
  CHECK(reader.counts().bad == 0);

  // No thread can have dropped this many between two looks.
  segment.ring(0)->dropped = uint64_t{1} << 63;
  Drain(&reader, &sink);
  CHECK(reader.counts().bad == 1);
  segment.header()->unclaimed = uint64_t{1} << 62;
  Drain(&reader, &sink);
  CHECK(reader.counts().bad == 2);
  // The count decreases, and wraps around.
  segment.ring(0)->dropped = 3;
  segment.header()->unclaimed = 0;
  Drain(&reader, &sink);
  CHECK(reader.counts().bad == 4);
  CHECK(reader.damage() ==
        "a ring counts more drops than its thread can have had, or fewer than before");

  // The next count is relative to the one that was refused.
  segment.ring(0)->dropped = 7;
  Drain(&reader, &sink);
  CHECK(sink.lost == 19);
  CHECK(reader.counts().lost == 19);
}

TEST_CASE("what was lost before this reader came is not its loss") {
  const Segment segment;
  segment.ring(1)->dropped = 1'000'000'000'000;
  segment.header()->unclaimed = 1'000'000'000'000;
  SegmentReader reader = segment.Open();
  reader.SkipBacklog();
  segment.ring(1)->dropped += 2;
  Sink sink;
  Drain(&reader, &sink);
  CHECK(sink.lost == 2);
  CHECK(reader.counts().bad == 0);
}

TEST_CASE("a head that goes back is bad, and holds up no mark") {
  const Segment segment;
  SegmentReader reader = segment.Open();
  Sink sink;
  for (int i = 0; i < 250; ++i) segment.Call(0);
  reader.Look();
  reader.Mark();
  const size_t taken = reader.Read(1, &sink);
  REQUIRE(taken < 200);  // limited per call
  segment.ring(0)->head = 200;
  Drain(&reader, &sink);
  CHECK(reader.counts().bad == 1);
  CHECK(reader.PassedMark());
  CHECK(sink.calls == taken);
}

TEST_CASE("of a ring full of garbage some is looked at, and the next one is read") {
  const Segment segment;
  SegmentReader reader = segment.Open();
  Sink sink;
  segment.ring(0)->head = kLayout.slots();  // slots that were never written
  segment.Call(1);
  Drain(&reader, &sink);
  CHECK(sink.calls == 1);
  CHECK(reader.counts().bad == 64 + 1);
  CHECK(reader.counts().lost == 0);
  // It continues where the writer does.
  segment.Call(0);
  Drain(&reader, &sink);
  CHECK(sink.calls == 2);
}

TEST_CASE("pages that the process has not written are not made by reading") {
  const Segment segment;
  SegmentReader reader = segment.Open();
  Sink sink;
  Drain(&reader, &sink);
  struct stat before, after;
  REQUIRE(fstat(segment.file.get(), &before) == 0);
  segment.ring(0)->head = kLayout.slots();
  segment.ring(1)->head = kLayout.slots();
  Drain(&reader, &sink);
  REQUIRE(fstat(segment.file.get(), &after) == 0);
  CHECK(reader.counts().bad > 0);
  CHECK(after.st_blocks == before.st_blocks);
}

TEST_CASE("who has had its share of texts is read on later, others in between") {
  const Segment segment;
  SegmentReader reader = segment.Open();
  Sink sink;
  for (const char* text : {"a", "b", "c", "d"}) segment.Text(0, text);
  segment.Text(1, "z");
  sink.texts_left = 2;
  CHECK(Drain(&reader, &sink) == 2);
  CHECK(sink.texts == std::vector<std::string>{"a", "b"});
  CHECK(Drain(&reader, &sink) == 0);
  sink.texts_left = 2;
  CHECK(Drain(&reader, &sink) == 2);
  CHECK(sink.texts == std::vector<std::string>{"a", "b", "z", "c"});
  CHECK(reader.counts().lost == 0);

  // At the end of its process, nothing is delayed any more.
  sink.texts_left = 0;
  reader.GiveUp(&sink);
  CHECK(reader.counts().lost == 1);
  CHECK(sink.lost == 1);
}

}  // namespace
}  // namespace acceltrace::daemon
