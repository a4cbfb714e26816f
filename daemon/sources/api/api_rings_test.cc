// SPDX-License-Identifier: Apache-2.0
//
// Processes that write too much to their rings: this one, and a child.
#include "daemon/sources/api/api_rings.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "daemon/base/host_info.h"
#include "daemon/testing/collecting.h"
#include "libtrace/ring/segment.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr const char* kNames[] = {"call"};
constexpr uint32_t kSlotBits = 16;
constexpr size_t kTexts = 60'000;

ring::Segment NewSegment() {
  ring::Host host = {};
  host.names = kNames;
  host.num_names = 1;
  host.threads = 1;
  host.slot_bits = kSlotBits;
  ring::Segment segment;
  REQUIRE(ring::MakeSegment(host, 0, &segment) == 0);
  segment.header->clock = ring::StampClock::kMonotonic;
  segment.rings()[0].state = static_cast<uint32_t>(ring::RingState::kOpen);
  segment.rings()[0].tid = static_cast<uint32_t>(getpid());
  return segment;
}

SegmentPlace PlaceOf(const ring::Segment& segment) {
  return {reinterpret_cast<uintptr_t>(segment.header), segment.layout.bytes()};
}

void Write(const ring::Segment& segment, ring::Kind kind, uint32_t arg, const std::string& text) {
  ring::Slot slot = {static_cast<uint64_t>(MonotonicNs()),
                     static_cast<uint8_t>(kind),
                     0,
                     static_cast<uint16_t>(text.size()),
                     arg,
                     {{0, 0}}};
  if (!text.empty()) std::memcpy(slot.text, text.data(), text.size());
  ring::ThreadRing& ring = segment.rings()[0];
  segment.slots(0)[ring.head % segment.layout.slots()] = slot;
  ring.head.fetch_add(1, std::memory_order_release);
}

TEST_CASE("a process that makes up texts without end gets its share, and others are read") {
  CollectingHandler handler;
  ApiRings rings(&handler, [](uint32_t, uint32_t) {});
  const int64_t begin_ns = MonotonicNs();

  int made[2];
  REQUIRE(pipe(made) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const ring::Segment flooded = NewSegment();
    for (uint32_t i = 0; i < kTexts; ++i) {
      Write(flooded, ring::Kind::kOpName, i, "t" + std::to_string(i));
    }
    const SegmentPlace place = PlaceOf(flooded);
    (void)!write(made[1], &place, sizeof(place));
    pause();
    _exit(0);
  }
  SegmentPlace place;
  REQUIRE(read(made[0], &place, sizeof(place)) == sizeof(place));
  const ring::Segment own = NewSegment();
  const auto taken = rings.Take(static_cast<uint32_t>(child), place);
  INFO(taken.message());
  REQUIRE(taken.ok());
  REQUIRE(rings.Take(static_cast<uint32_t>(getpid()), PlaceOf(own)).ok());

  for (int round = 0; round < 2; ++round) {
    Write(own, ring::Kind::kApiBegin, 0, "");
    // Drains until there is nothing more to do at once.
    for (int64_t now_ns = MonotonicNs(); rings.Drain(now_ns).next_ns == now_ns;) {
      now_ns = MonotonicNs();
    }
    CHECK(handler.begins.size() == static_cast<size_t>(round) + 1);
    const auto elapsed_ns = static_cast<double>(MonotonicNs() - begin_ns);
    CHECK(handler.op_names.size() <= 16'384 + 1 + static_cast<size_t>(elapsed_ns * 50'000 / 1e9));
  }
  // The fill level of rings that have to wait does not count.
  if (handler.op_names.size() < kTexts) CHECK(rings.Filling() == 0);

  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  rings.Stop();
  const Hop& hop = handler.hops.back();
  CHECK(hop.in == kTexts + 2);
  CHECK(hop.in == hop.out + hop.lost + hop.bad);
  CHECK(hop.bad == 0);
  close(made[0]);
  close(made[1]);
}

TEST_CASE("a ring of no thread is one like others") {
  CollectingHandler handler;
  ApiRings rings(&handler, [](uint32_t, uint32_t) {});
  const auto pid = static_cast<uint32_t>(getpid());
  const ring::Segment segment = NewSegment();
  segment.rings()[0].tid = 0;
  REQUIRE(rings.Take(pid, PlaceOf(segment)).ok());
  for (size_t calls = 1; calls <= 2; ++calls) {
    Write(segment, ring::Kind::kApiBegin, 0, "");
    rings.Drain(MonotonicNs());
    CHECK(handler.begins.size() == calls);
    rings.OnExit(pid, 0);  // forgets its open calls
  }
  rings.Stop();
  CHECK(handler.hops.back().out == 2);
}

}  // namespace
}  // namespace acceltrace::daemon
